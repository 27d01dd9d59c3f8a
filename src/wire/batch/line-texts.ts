import { fieldsOf, isObject, stringOr } from '../../base/fields.ts';
import { truncate } from '../../base/truncate.ts';
import { words } from '../../base/words.ts';

/** Members whose strings are structure, or content that is not text. */
const structural: ReadonlySet<string> = new Set([
  ...words('role type model id object url data b64_json encrypted_content signature created embedding'),
  ...words('finish_reason stop_reason status service_tier system_fingerprint response_format'),
  ...words('tool_call_id call_id tool_use_id'),
]);

/** Texts in the body of a request or an answer of any endpoint, in order. */
export function* textsOf(value: unknown): Generator<string> {
  if (typeof value === 'string') yield value;
  else if (Array.isArray(value)) for (const item of value) yield* textsOf(item);
  else if (isObject(value))
    for (const [name, member] of Object.entries(value)) if (!structural.has(name)) yield* textsOf(member);
}

/** Last text that a user wrote in the body of a request, or its input. */
export function promptText(body: unknown): string {
  const { messages, input, prompt, query, text_1: text, queries } = fieldsOf(body);
  const turns = [messages, input].find(Array.isArray) as unknown[] | undefined;
  const last = turns?.findLast((turn) => isObject(turn) && turn['role'] === 'user') ?? turns?.at(-1);
  return joined(last ?? input ?? prompt ?? query ?? text ?? queries);
}

/** Text of the first answer in the body of a response, or the calls that it makes. */
export function answerText(body: unknown): string {
  const { choices, content, output, results } = fieldsOf(body);
  if (Array.isArray(choices)) {
    const choice = fieldsOf(choices[0]);
    const message = fieldsOf(choice['message']);
    return joined(message['content'] ?? choice['text']) || joined(message['tool_calls']);
  }
  if (Array.isArray(output)) {
    const messages = output.filter((item) => fieldsOf(item)['type'] === 'message');
    return joined(messages.length > 0 ? messages : output);
  }
  // The documents of a ranking.
  return joined(content ?? results);
}

function joined(value: unknown): string {
  return [...textsOf(value)].join(' ');
}

const previewLength = 200;

/** Beginning of a text on one line. */
export function preview(text: string): string {
  return truncate(
    text
      .slice(0, 4 * previewLength)
      .replaceAll(/\s+/g, ' ')
      .trim(),
    previewLength,
    '…',
  );
}

/** Message of the error in a result line, Offpeak's or that of the engine's answer; empty without one. */
export function errorMessage(line: Record<string, unknown>): string {
  const reported = fieldsOf(fieldsOf(fieldsOf(line['response'])['body'])['error']);
  return stringOr(fieldsOf(line['error'])['message'], stringOr(reported['message'], ''));
}
