/** Lines of a batch file, as a user writes them. */
export interface Line {
  custom_id: string;
  method: 'POST';
  url: string;
  body: Record<string, unknown>;
}

/** One chat request; `content` is what the user says, the custom_id when absent. */
export function chatLine(customId: string, content = customId, more: Record<string, unknown> = {}): Line {
  const body = { model: 'default', messages: [{ role: 'user', content }], ...more };
  return { custom_id: customId, method: 'POST', url: '/v1/chat/completions', body };
}

export function embeddingsLine(customId: string, input: string | string[]): Line {
  return { custom_id: customId, method: 'POST', url: '/v1/embeddings', body: { model: 'default', input } };
}

/** `row-0` ... as many chat requests as asked for. */
export function chatLines(count: number, content: (n: number) => string = (n) => `row-${n}`): Line[] {
  return Array.from({ length: count }, (_, n) => chatLine(`row-${n}`, content(n)));
}

export function jsonl(lines: readonly unknown[]): string {
  return lines.map((line) => `${JSON.stringify(line)}\n`).join('');
}

/** A result line, of either stream, as far as tests look at it. */
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

/** Every custom_id of both streams, and the same without repetitions: equal lengths, or a line ended twice. */
export function endings(output: string, errors: string): { all: string[]; distinct: Set<string> } {
  const all = [...parseLines(output), ...parseLines(errors)].map((line) => line.custom_id);
  return { all, distinct: new Set(all) };
}
