extern "C" __global__ void accelerations(const float4* bodies, float3* found, int n) {
    __shared__ float4 tile[64];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float4 own = i < n ? bodies[i] : float4{0, 0, 0, 0};
    float3 sum = {0, 0, 0};
    for (int start = 0; start < n; start += 64) {
        int j = start + threadIdx.x;
        tile[threadIdx.x] = j < n ? bodies[j] : float4{0, 0, 0, 0};
        __syncthreads();
        for (int k = 0; k < 64; k++) {
            float3 apart = {tile[k].x - own.x, tile[k].y - own.y, tile[k].z - own.z};
            float square = apart.x * apart.x + apart.y * apart.y + apart.z * apart.z + 0.01f;
            float inverse = rsqrtf(square);
            float factor = tile[k].w * inverse * inverse * inverse;
            sum.x += factor * apart.x;
            sum.y += factor * apart.y;
            sum.z += factor * apart.z;
        }
        __syncthreads();
    }
    if (i < n) found[i] = sum;
}
