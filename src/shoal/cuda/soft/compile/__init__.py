"""A kernel's flat form to machine code, through LLVM. One file per family of instructions; `table` knows them all."""
