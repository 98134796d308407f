/* Written by python -m shoal.cuda.api from src/shoal/cuda/api; change it there. */
#define SERVERS "SHOAL_GPU_SERVERS"
#define NUMBERS "SHOAL_GPU_NUMBERS"
#define TOKEN "SHOAL_LEASE_TOKEN"
