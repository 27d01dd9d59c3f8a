/**
 * A stand-in for a tokenizer: a token is at most four characters of a word with the whitespace before them. Joining
 * the tokens gives the text back.
 */
export function tokenize(text: string): string[] {
  return text.match(/\s*\S{1,4}|\s+$/gu) ?? [];
}

const blockTokens = 16;
const mostBlocks = 100_000;

/** A simulated prefix cache: prompts that begin with the same blocks of 16 tokens find them again. */
export interface PrefixCache {
  /** How many leading tokens were seen before; remembers all of them. The last token is never cached. */
  visit(tokens: readonly string[]): number;
}

export function createPrefixCache(): PrefixCache {
  const seen = new Set<number>();
  return {
    visit(tokens) {
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
        if (seen.size <= mostBlocks) break;
        seen.delete(oldest);
      }
      return cached;
    },
  };
}

/** FNV-1a over UTF-16 units: quick and repeatable, not for anything that must be hard to guess. */
export function fnv(hash: number, text: string): number {
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  return hash >>> 0;
}
