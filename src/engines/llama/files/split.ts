/** `name-00002-of-00005.gguf`, the way split models are named (llama.cpp's gguf-split). */
const pattern = /-(\d{5})-of-(\d{5})(\.gguf)$/i;

const mostParts = 1000;

/** The names of all files of the model that a file belongs to: one, unless it is split. */
export function allParts(name: string): string[] {
  const count = Number(pattern.exec(name)?.[2] ?? 0);
  if (count < 1 || count > mostParts) return [name];
  return Array.from({ length: count }, (_, index) =>
    name.replace(pattern, (_match, _own, of: string, end: string) => {
      return `-${String(index + 1).padStart(5, '0')}-of-${of}${end}`;
    }),
  );
}
