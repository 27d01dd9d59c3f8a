import { type Fields, isObject, stringOr } from '../../base/fields.ts';

/**
 * OpenRouter's form of reasoning, which some of its models need back in every later request: texts, summaries, and content
 * that only their provider can read (`reasoning.encrypted`).
 */
export type ReasoningDetail = Fields;

export function reasoningDetails(given: unknown): ReasoningDetail[] {
  return Array.isArray(given) ? given.filter(isObject) : [];
}

/** Readable reasoning text. */
export function textOfDetails(details: readonly ReasoningDetail[]): string {
  return details.map(({ text, summary }) => stringOr(text ?? summary, '')).join('');
}

/** Appends the details of one delta, and joins the pieces of a text. */
export function addDetails(all: ReasoningDetail[], more: readonly ReasoningDetail[]): void {
  for (const detail of more) {
    const last = all.at(-1);
    const isSame = last?.['type'] === detail['type'] && last?.['index'] === detail['index'];
    const member = isSame ? streamedMember(detail) : undefined;
    if (!last || member === undefined) all.push({ ...detail });
    else for (const [name, value] of Object.entries(detail)) add(last, name, value, name === member);
  }
}

function add(detail: ReasoningDetail, name: string, value: unknown, isText: boolean): void {
  const before = detail[name];
  if (isText && typeof before === 'string' && typeof value === 'string') detail[name] = before + value;
  else if (value !== null && value !== undefined) detail[name] = value;
}

/** Member of a detail that is streamed in pieces. */
function streamedMember({ type }: ReasoningDetail): 'text' | 'summary' | undefined {
  if (type === 'reasoning.text') return 'text';
  return type === 'reasoning.summary' ? 'summary' : undefined;
}
