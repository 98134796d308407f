/* Rectangles between host and device, within the device and on the host, with and without something between the rows. */
#include "driver.h"

typedef struct {
    size_t x, y;
    int type;
    const void *host;
    CUdeviceptr device;
    void *array;
    size_t pitch;
} Corner;
typedef struct {
    Corner from, to;
    size_t width, height;
} Rectangle;

CUresult cuMemcpy2D_v2(const Rectangle *copy);
CUresult cuMemcpy2DUnaligned_v2(const Rectangle *copy);
CUresult cuMemcpy2DAsync_v2(const Rectangle *copy, CUstream stream);
CUresult cuMemAllocPitch_v2(CUdeviceptr *address, size_t *pitch, size_t width, size_t height, unsigned element);
CUresult cuMemsetD2D8_v2(CUdeviceptr to, size_t pitch, unsigned char value, size_t width, size_t height);
CUresult cuMemsetD2D16_v2(CUdeviceptr to, size_t pitch, unsigned short value, size_t width, size_t height);
CUresult cuMemsetD2D32Async(CUdeviceptr to, size_t pitch, unsigned value, size_t width, size_t height, CUstream stream);

enum { W = 70, H = 30, HOST = 1, DEVICE = 2, ARRAY = 3, UNIFIED = 4 };

static unsigned char in[H][W], out[H][W];

int main(void) {
    CUdeviceptr pitched, other;
    CUstream stream;
    size_t pitch;
    start();
    OK(cuStreamCreate(&stream, 0));
    OK(cuMemAllocPitch_v2(&pitched, &pitch, W, H, 4));
    OK(cuMemAlloc_v2(&other, 200 * H));
    CHECK(pitch >= W);
    for (int y = 0; y < H; y++)
        for (int x = 0; x < W; x++)
            in[y][x] = (unsigned char)(y * 7 + x);
    Corner host = {0, 0, HOST, in, 0, NULL, W}, back = {0, 0, HOST, out, 0, NULL, W};
    Corner device = {0, 0, DEVICE, NULL, pitched, NULL, pitch}, second = {20, 1, UNIFIED, NULL, other, NULL, 200};

    OK(cuMemcpy2D_v2(&(Rectangle){host, device, W, H}));
    OK(cuMemcpy2DAsync_v2(&(Rectangle){device, second, W, H - 1}, stream));
    OK(cuMemcpy2DAsync_v2(&(Rectangle){second, back, W, H - 1}, stream));
    OK(cuStreamSynchronize(stream));
    CHECK(!memcmp(in, out, W * (H - 1)) && out[H - 1][0] == 0);

    memset(out, 0, sizeof out); /* a part: 10 bytes by 5 rows, from (3, 2) to (1, 4) */
    device.x = 3, device.y = 2, back.x = 1, back.y = 4;
    OK(cuMemcpy2DUnaligned_v2(&(Rectangle){device, back, 10, 5}));
    for (int y = 0; y < H; y++)
        for (int x = 0; x < W; x++)
            CHECK(out[y][x] == (x >= 1 && x < 11 && y >= 4 && y < 9 ? in[y - 2][x + 2] : 0));
    back.x = back.y = device.x = device.y = 0;

    OK(cuMemcpy2D_v2(&(Rectangle){host, back, W, H}));
    CHECK(!memcmp(in, out, sizeof out));

    OK(cuMemsetD2D8_v2(pitched, pitch, 9, W, H));
    OK(cuMemsetD2D16_v2(pitched + 2 * pitch + 2, pitch, 0x0102, 3, 2));
    OK(cuMemsetD2D32Async(pitched + 4 * pitch, pitch, 0x03030303, 2, 1, NULL));
    OK(cuMemcpy2D_v2(&(Rectangle){device, back, W, H}));
    for (int y = 0; y < H; y++)
        for (int x = 0; x < W; x++) {
            int wanted = (y == 2 || y == 3) && x >= 2 && x < 8 ? 2 - x % 2 : y == 4 && x < 8 ? 3 : 9;
            CHECK(out[y][x] == wanted);
        }

    GIVES(1, cuMemcpy2D_v2(NULL));
    GIVES(1, cuMemcpy2D_v2(&(Rectangle){host, device, W + 1, H})); /* wider than the host's rows */
    GIVES(1, cuMemcpy2D_v2(&(Rectangle){{0, 0, 9, in, 0, NULL, W}, device, W, H}));
    GIVES(1, cuMemcpy2D_v2(&(Rectangle){{0, 0, HOST, NULL, 0, NULL, W}, device, W, H}));
    GIVES(801, cuMemcpy2D_v2(&(Rectangle){{0, 0, ARRAY, NULL, 0, &pitch, W}, device, W, H}));
    GIVES(1, cuMemsetD2D32Async(pitched, W + 1, 0, 4, 2, NULL));
    GIVES(1, cuMemsetD2D8_v2(pitched, W - 1, 0, W, 2));
    OK(cuMemcpy2D_v2(&(Rectangle){host, device, W, 0}));
    OK(cuMemsetD2D8_v2(pitched, 0, 1, 5, 1));
    puts("done");
    return 0;
}
