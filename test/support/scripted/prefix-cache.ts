const blockTokens = 16;
const maxBlocks = 100_000;

/** A simulated prefix cache: prompts that begin with the same blocks of 16 tokens share them. */
export function createPrefixCache() {
  const seen = new Set<number>();
  return {
    /** Remembers a prompt and returns how many of its leading tokens were known. The last token is never cached. */
    visit(tokens: readonly string[]): number {
      let hash = 0x811c9dc5;
      let cached = 0;
      let unbroken = true;
      for (let end = blockTokens; end < tokens.length; end += blockTokens) {
        for (let i = end - blockTokens; i < end; i++) hash = fnv(hash, tokens[i] ?? '');
        if (unbroken && seen.has(hash)) cached = end;
        else unbroken = false;
        seen.delete(hash);
        seen.add(hash);
      }
      for (const oldest of seen) {
        if (seen.size <= maxBlocks) break;
        seen.delete(oldest);
      }
      return cached;
    },
  };
}

/** FNV-1a over UTF-16 units. */
function fnv(hash: number, text: string): number {
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  return hash >>> 0;
}
