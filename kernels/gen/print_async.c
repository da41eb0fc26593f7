/* The text of asynchronous copies to shared tiles (nest/pipeline.c): instructions of PTX. The host
 * twin copies at once instead, and notes until when a GPU could still be copying (twin.c). */
#include "kernels/gen/emit.h"

/* Emits a function that copies 4, 8 or 16 bytes. */
static void helper_copy_async(struct str *out, int bytes, bool twin)
{
    str_printf(out, "/* Copies %d aligned bytes to shared memory, some time before a wait. */\n"
                    "static inline void copy_async%d(void *to, const void *from)\n{\n", bytes,
               bytes);
    if (twin)
        str_printf(out, "    __builtin_memcpy(to, from, %d);\n}\n", bytes);
    else
        str_printf(out, "    asm volatile(\"cp.async.%s.shared.global [%%0], [%%1], %d;\" : :\n"
                   "                 \"r\"((unsigned)__cvta_generic_to_shared(to)), \"l\"(from)"
                   " : \"memory\");\n}\n", bytes == 16 ? "cg" : "ca", bytes);
}

void async_helpers(const struct emit *m, struct str *out)
{
    for (int bytes = 4; bytes <= 16; bytes *= 2)
        if (m->needs.copy_async[bytes])
            helper_copy_async(out, bytes, m->twin);
}

/* Prints copy_async16(&A_tile[m], &A[k]). */
void code_print_async(struct emit *m, const struct code *c)
{
    int bytes = c->at.lanes * m->u->func->buffer[c->at.buffer].type->bytes;
    m->needs.copy_async[bytes] = true;
    emit_indent(m);
    str_printf(m->out, "copy_async%d(", bytes);
    m->async = true;
    emit_address(m, &c->at, true);
    m->async = false;
    str_add(m->out, ", ");
    emit_address(m, &c->value->at, false);
    str_add(m->out, ");\n");
}

void code_print_sync(struct emit *m, const struct code *c)
{
    if (c->sync == SYNC_BARRIER)
        emit_line(m, "__syncthreads();");
    else if (m->twin && c->sync == SYNC_COMMIT)
        emit_line(m, "ts_commit();");
    else if (m->twin)
        emit_line(m, "ts_wait_copies(%d);", c->left);
    else if (c->sync == SYNC_COMMIT)
        emit_line(m, "asm volatile(\"cp.async.commit_group;\" : : : \"memory\");");
    else
        emit_line(m, "asm volatile(\"cp.async.wait_group %d;\" : : : \"memory\");", c->left);
}
