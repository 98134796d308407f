// Keeps pages up to date; every page and every action works without it.
"use strict";

const connection = document.getElementById("connection");

// Durations are counted on here, so that a page need not be sent again each second.
function duration(seconds) {
  const s = Math.max(0, Math.round(seconds));
  if (s < 60) return `${s} s`;
  if (s < 3600) return `${Math.floor(s / 60)} min ${s % 60} s`;
  if (s < 86400) return `${Math.floor(s / 3600)} h ${Math.floor((s % 3600) / 60)} min`;
  return `${Math.floor(s / 86400)} d ${Math.floor((s % 86400) / 3600)} h`;
}
function count() {
  for (const each of document.querySelectorAll("time[data-since]")) {
    const said = duration(Date.now() / 1000 - each.dataset.since);
    if (each.textContent !== said) each.textContent = said;
  }
}
count();
setInterval(count, 1000);

// The list's filter: words of which each must occur in the name or the phase.
const filter = document.getElementById("filter");
function matches(row) {
  const said = `${row.cells[0].textContent} ${row.cells[1].textContent}`.toLowerCase();
  return filter.value.toLowerCase().split(/\s+/).every((word) => said.includes(word));
}
function applyFilter() {
  for (const row of document.getElementById("rows").rows) row.hidden = !matches(row);
}
if (filter) {
  filter.addEventListener("input", applyFilter);
  applyFilter(); // by what was typed before this was here
}

// A fragment is a row of the list, which is replaced as a whole, or what is in the element of that id.
const list = document.querySelector("[data-list]");
function put(id, html) {
  const old = document.getElementById(id);
  if (list && id !== "summary") {
    const template = document.createElement("template");
    template.innerHTML = html;
    const row = template.content.querySelector("tr");
    const focused = old && old.contains(document.activeElement);
    if (old) old.replaceWith(row);
    else list.append(row);
    row.hidden = !matches(row);
    if (focused) row.querySelector("a").focus();
  } else if (old) {
    const within = [...old.querySelectorAll("a, button, input, [tabindex]")];
    const at = within.indexOf(document.activeElement);
    old.innerHTML = html;
    if (at >= 0) [...old.querySelectorAll("a, button, input, [tabindex]")][at]?.focus();
  }
}
function inOrder(ids) {
  const wanted = new Set(ids);
  for (const row of [...list.rows]) if (!wanted.has(row.id)) row.remove();
  let at = list.rows[0];
  for (const id of ids) {
    const row = document.getElementById(id);
    if (!row || row.parentNode !== list) continue;
    if (row === at) at = at.nextElementSibling;
    else list.insertBefore(row, at);
  }
  document.getElementById("none").hidden = list.rows.length > 0;
}

// A browser opens six connections to a place and no more, and each page holds one or two: pages that nobody sees leave
// theirs to others.
function whileSeen(listen, leave) {
  document.addEventListener("visibilitychange", () => (document.hidden ? leave() : listen()));
  if (!document.hidden) listen();
}

const live = document.getElementById("live");
if (live) {
  let version = live.dataset.version;
  let source = null;
  let again = 0;
  const leave = () => {
    clearTimeout(again);
    if (source) source.close();
  };
  const listen = () => {
    leave();
    source = new EventSource(`${live.dataset.events}?since=${version}`);
    source.onmessage = (message) => {
      const news = JSON.parse(message.data);
      version = news.version;
      for (const [id, html] of Object.entries(news.fragments)) put(id, html);
      if (news.order && list) inOrder(news.order);
      connection.textContent = news.fault;
      count();
    };
    // Not left to the browser: it would ask for what has changed since the page was made.
    source.onerror = () => {
      source.close();
      connection.textContent = connection.textContent || "The dashboard does not answer; trying again.";
      again = setTimeout(listen, 3000);
    };
    source.onopen = () => { connection.textContent = ""; };
  };
  whileSeen(listen, leave);
}

const log = document.getElementById("log");
if (log) {
  const MOST_LINES = 3000;
  const chooser = document.getElementById("replica");
  let source = null;
  let ended = false;
  const show = (pairs) => {
    const atEnd = log.scrollHeight - log.scrollTop - log.clientHeight < 40;
    const added = document.createDocumentFragment();
    for (const [replica, line] of pairs) {
      const row = document.createElement("div");
      const name = document.createElement("b");
      name.textContent = `${replica} | `;
      row.append(name, line);
      added.append(row);
      if (![...chooser.options].some((option) => option.value === replica)) chooser.add(new Option(replica));
    }
    log.append(added);
    while (log.childElementCount > MOST_LINES) log.firstElementChild.remove();
    if (atEnd) log.scrollTop = log.scrollHeight;
  };
  const leave = () => {
    if (source) source.close();
  };
  const read = () => {
    leave();
    ended = false;
    const wanted = chooser.value ? `?replica=${encodeURIComponent(chooser.value)}` : "";
    source = new EventSource(log.dataset.logs + wanted);
    source.onopen = () => log.replaceChildren(); // each stream begins with the last lines
    source.onmessage = (message) => show(JSON.parse(message.data));
    const end = () => {
      leave();
      ended = true;
    };
    source.addEventListener("end", end);
    source.addEventListener("fault", (message) => {
      end();
      log.append(JSON.parse(message.data).fault);
    });
  };
  chooser.addEventListener("change", read);
  // What is all there is not read again, so that who scrolled it finds the place again.
  whileSeen(() => ended || read(), leave);
}
