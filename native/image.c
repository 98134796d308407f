/* Code as programs hand it over: a pointer without a size. PTX ends with a zero byte; a fat binary and an ELF file say
 * how long they are; and what cuLinkComplete made is our own, a row of pieces. */
#include "shoal.h"

#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FAT_WRAPPER 0x466243b1u /* what a compiler puts into a program: magic, version, pointer to the fat binary */
#define FAT_BINARY 0xba55ed50u  /* magic, version (16 bits), bytes of this header (16 bits), bytes behind it (64 bits) */
static const char LINKED[8] = "SHOALLNK"; /* then bytes of the whole, pieces, and the pieces */

static uint64_t number(const uint8_t *at, int bytes) {
    uint64_t value = 0;
    for (int i = 0; i < bytes; i++)
        value |= (uint64_t)at[i] << 8 * i;
    return value;
}

static size_t elf_bytes(const uint8_t *code) {
    Elf64_Ehdr header;
    memcpy(&header, code, sizeof header);
    size_t end = header.e_shoff + (size_t)header.e_shentsize * header.e_shnum;
    size_t programs = header.e_phoff + (size_t)header.e_phentsize * header.e_phnum;
    for (unsigned i = 0; header.e_shentsize == sizeof(Elf64_Shdr) && i < header.e_shnum; i++) {
        Elf64_Shdr section;
        memcpy(&section, code + header.e_shoff + i * sizeof section, sizeof section);
        if (section.sh_type != SHT_NOBITS && section.sh_offset + section.sh_size > end)
            end = section.sh_offset + section.sh_size;
    }
    return programs > end ? programs : end;
}

CUresult shoal_add_piece(struct image *image, const void *data, size_t bytes) {
    uint8_t *grown = realloc(image->packed, image->bytes + 8 + bytes);
    if (!grown)
        return OUT_OF_MEMORY;
    for (int i = 0; i < 8; i++)
        grown[image->bytes + (size_t)i] = (uint8_t)((uint64_t)bytes >> 8 * i);
    memcpy(grown + image->bytes + 8, data, bytes);
    image->packed = grown;
    image->bytes += 8 + bytes;
    image->pieces++;
    return SUCCESS;
}

CUresult shoal_read_image(const void *pointer, struct image *image) {
    const uint8_t *code = pointer;
    memset(image, 0, sizeof *image);
    if (!code)
        return INVALID_VALUE;
    if (number(code, 4) == FAT_WRAPPER) {
        memcpy(&code, code + 8, sizeof code);
        if (!code)
            return INVALID_IMAGE;
    }
    if (number(code, 4) == FAT_BINARY)
        return shoal_add_piece(image, code, number(code + 6, 2) + number(code + 8, 8));
    if (!memcmp(code, ELFMAG, SELFMAG))
        return shoal_add_piece(image, code, elf_bytes(code));
    if (memcmp(code, LINKED, sizeof LINKED))
        return shoal_add_piece(image, code, strlen((const char *)code));
    image->bytes = number(code + 8, 8);
    image->pieces = (uint32_t)number(code + 16, 4);
    if (!(image->packed = malloc(image->bytes + 1)))
        return OUT_OF_MEMORY;
    memcpy(image->packed, code + 20, image->bytes);
    return SUCCESS;
}

/* What cuLinkComplete gives the program, which may copy it and hand it to cuModuleLoadData. To be freed. */
CUresult shoal_pack_link(const struct image *image, uint8_t **packed, size_t *bytes) {
    *bytes = 20 + image->bytes;
    if (!(*packed = malloc(*bytes)))
        return OUT_OF_MEMORY;
    memcpy(*packed, LINKED, sizeof LINKED);
    for (int i = 0; i < 8; i++)
        (*packed)[8 + i] = (uint8_t)((uint64_t)image->bytes >> 8 * i);
    for (int i = 0; i < 4; i++)
        (*packed)[16 + i] = (uint8_t)(image->pieces >> 8 * i);
    if (image->bytes)
        memcpy(*packed + 20, image->packed, image->bytes);
    return SUCCESS;
}

/* A whole file, with a zero byte behind it; to be freed. */
CUresult shoal_read_file(const char *name, uint8_t **data, size_t *bytes) {
    FILE *file = name ? fopen(name, "rb") : NULL;
    if (!file)
        return name ? FILE_NOT_FOUND : INVALID_VALUE;
    CUresult status = INVALID_IMAGE;
    long end = fseek(file, 0, SEEK_END) ? -1 : ftell(file);
    if (end >= 0 && (*data = malloc((size_t)end + 1))) {
        rewind(file);
        *bytes = fread(*data, 1, (size_t)end, file);
        (*data)[*bytes] = 0;
        status = *bytes == (size_t)end ? SUCCESS : INVALID_IMAGE;
        if (status)
            free(*data);
    }
    fclose(file);
    return status;
}

void shoal_free_image(struct image *image) {
    free(image->packed);
    image->packed = NULL;
}
