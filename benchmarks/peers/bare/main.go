// bare sends requests from a file to an API server, as fast as the server answers, and does nothing else.
//
// Each line of the file is {"method", "path", "type", "body"}. Prints when the first request was sent and when the last
// answer had come, in seconds since 1970. In Go, and with the standard library alone, because that costs the machine the
// least: what is measured is the server.
package main

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"sync"
	"time"
)

type request struct {
	Method, Path, Type string
	Body               json.RawMessage
}

func main() {
	server := flag.String("server", "", "as in https://127.0.0.1:6443")
	ca := flag.String("ca", "", "file of the authority that signed the server's certificate")
	cert := flag.String("cert", "", "file of the client's certificate")
	key := flag.String("key", "", "file of its key")
	atOnce := flag.Int("at-once", 32, "requests at a time, each on a connection of its own")
	flag.Parse()
	requests := read(flag.Arg(0))
	client := connect(*ca, *cert, *key, *atOnce)

	began := time.Now()
	work := make(chan request)
	var workers sync.WaitGroup
	for range *atOnce {
		workers.Add(1)
		go func() {
			defer workers.Done()
			for each := range work {
				send(client, *server, each)
			}
		}()
	}
	for _, each := range requests {
		work <- each
	}
	close(work)
	workers.Wait()
	fmt.Printf("{\"began\": %f, \"ended\": %f}\n", seconds(began), seconds(time.Now()))
}

func send(client *http.Client, server string, each request) {
	asked, err := http.NewRequest(each.Method, server+each.Path, bytes.NewReader(each.Body))
	check(err)
	asked.Header.Set("Content-Type", each.Type)
	answer, err := client.Do(asked)
	check(err)
	defer answer.Body.Close()
	told, err := io.ReadAll(answer.Body)
	check(err)
	if answer.StatusCode >= 300 {
		check(fmt.Errorf("%s %s: %s: %s", each.Method, each.Path, answer.Status, told))
	}
}

func connect(ca, cert, key string, atOnce int) *http.Client {
	signed, err := os.ReadFile(ca)
	check(err)
	trust := x509.NewCertPool()
	trust.AppendCertsFromPEM(signed)
	pair, err := tls.LoadX509KeyPair(cert, key)
	check(err)
	transport := &http.Transport{
		TLSClientConfig:     &tls.Config{RootCAs: trust, Certificates: []tls.Certificate{pair}},
		MaxIdleConnsPerHost: atOnce,
	}
	return &http.Client{Transport: transport}
}

func read(path string) (requests []request) {
	file, err := os.Open(path)
	check(err)
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var each request
		check(json.Unmarshal(lines.Bytes(), &each))
		requests = append(requests, each)
	}
	check(lines.Err())
	return requests
}

func seconds(at time.Time) float64 { return float64(at.UnixNano()) / 1e9 }

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}
