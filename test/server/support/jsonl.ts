/** Returns lines of a batch input file as text. */
export function chatLines(
  count: number,
  more: { model?: string; content?: (n: number) => string } = {},
): string {
  const { model = 'tiny', content = (n) => `line ${n} [[tokens 2]]` } = more;
  return Array.from({ length: count }, (_, n) => `${JSON.stringify(chatLine(n, model, content(n)))}\n`).join(
    '',
  );
}

export function chatLine(n: number, model = 'tiny', content = `line ${n}`): object {
  return {
    custom_id: `c${n}`,
    method: 'POST',
    url: '/v1/chat/completions',
    body: { model, messages: [{ role: 'user', content }] },
  };
}
