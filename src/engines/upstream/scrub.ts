const longest = 1000;

/**
 * An upstream's own words made fit for a client: no addresses, no credentials, no control characters, not endless.
 * @param secrets strings that must not appear, such as the upstream's key and host
 */
export function scrub(text: string, secrets: readonly string[] = []): string {
  let clean = text
    .replaceAll(/\p{Cc}+/gu, ' ')
    .replaceAll(/\s+/g, ' ')
    .trim();
  clean = clean
    .replaceAll(/\b[a-z][a-z0-9+.-]*:\/\/[^\s"'<>)\]}]+/gi, '[address]')
    .replaceAll(/\b\d{1,3}(?:\.\d{1,3}){3}(?::\d+)?\b/g, '[address]')
    .replaceAll(/\b(bearer|basic)\s+[\w.~+/=-]{8,}/gi, '$1 [removed]')
    .replaceAll(/\b(?:sk|key|hf|gsk|xai)[-_][\w-]{8,}/gi, '[removed]');
  for (const secret of secrets) if (secret) clean = clean.replaceAll(secret, '[removed]');
  return clean.length > longest ? `${clean.slice(0, longest)}...` : clean;
}
