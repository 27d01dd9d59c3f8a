/** Line of a batch file. */
export interface Line {
  custom_id: string;
  method: 'POST';
  url: string;
  body: Record<string, unknown>;
}

/** Returns one chat request; `content` of the user defaults to the custom_id. */
export function chatLine(customId: string, content = customId, more: Record<string, unknown> = {}): Line {
  const body = { model: 'default', messages: [{ role: 'user', content }], ...more };
  return { custom_id: customId, method: 'POST', url: '/v1/chat/completions', body };
}

export function embeddingsLine(customId: string, input: string | string[]): Line {
  return { custom_id: customId, method: 'POST', url: '/v1/embeddings', body: { model: 'default', input } };
}

/** Returns `count` chat requests with the custom_ids `row-0`, `row-1` ... */
export function chatLines(count: number, content: (n: number) => string = (n) => `row-${n}`): Line[] {
  return Array.from({ length: count }, (_, n) => chatLine(`row-${n}`, content(n)));
}

export function jsonl(lines: readonly unknown[]): string {
  return lines.map((line) => `${JSON.stringify(line)}\n`).join('');
}

/** Line of either result stream, with the fields that tests read. */
export interface ResultLine {
  id: string;
  custom_id: string;
  response: { status_code: number; body: ResultBody } | null;
  error: { code: string; message: string; attempts: number; retryable: boolean } | null;
}

export interface ResultBody {
  model: string;
  choices: { message: { content: string }; finish_reason: string }[];
  data: { embedding: number[] }[];
  usage: {
    prompt_tokens: number;
    completion_tokens: number;
    prompt_tokens_details?: { cached_tokens: number };
  };
}

export function parseLines(text: string): ResultLine[] {
  return text
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line) as ResultLine);
}

/** Returns the custom_ids of both streams, with and without duplicates: equal lengths unless a line ended twice. */
export function endings(output: string, errors: string): { all: string[]; distinct: Set<string> } {
  const all = [...parseLines(output), ...parseLines(errors)].map((line) => line.custom_id);
  return { all, distinct: new Set(all) };
}
