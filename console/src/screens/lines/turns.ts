import { fieldsOf, isObject, stringOr } from '../../../../src/base/fields.ts';

/** Message of a conversation, as text. */
export interface Turn {
  role: string;
  text: string;
}

/** Conversation in the body of a request of any endpoint. */
export function requestTurns(body: unknown): Turn[] {
  const { messages, input, prompt, system, instructions, ...direct } = fieldsOf(body);
  const first = [system, instructions].filter((each) => each !== undefined && each !== null);
  const list = messages ?? input ?? prompt;
  if (list === undefined) return pairTurns(direct);
  const turns = Array.isArray(list) ? list.map(toTurn) : [{ role: 'user', text: textOf(list) }];
  return [...first.map((each) => ({ role: 'system', text: textOf(each) })), ...turns];
}

/** Answers in the body of a response of any endpoint. */
export function answerTurns(body: unknown): Turn[] {
  const { choices, content, output, data, results } = fieldsOf(body);
  if (Array.isArray(choices))
    return choices.map((choice) => {
      const { message, text } = fieldsOf(choice);
      return message === undefined ? { role: 'assistant', text: textOf(text) } : toTurn(message);
    });
  if (Array.isArray(output)) return output.map(toTurn);
  if (content !== undefined) return [{ role: 'assistant', text: textOf(content) }];
  if (Array.isArray(results)) return results.map((each) => ({ role: 'result', text: textOf(each) }));
  if (!Array.isArray(data)) return [];
  const { score } = fieldsOf(data[0]);
  if (score === undefined) return [{ role: 'embeddings', text: `${data.length} vectors` }];
  return data.map((each) => ({ role: 'score', text: String(fieldsOf(each)['score']) }));
}

/** Texts of a request for a ranking or for scores. */
function pairTurns({ query, queries, documents, text_1, text_2 }: Record<string, unknown>): Turn[] {
  const turns = (role: string, texts: unknown) =>
    texts === undefined ? [] : [texts].flat().map((each) => ({ role, text: partText(each) }));
  return [...turns('query', query ?? queries ?? text_1), ...turns('document', documents ?? text_2)];
}

/** Answer as an object, where it is JSON: the first answer's text, or the arguments of its first call. */
export function structuredAnswer(body: unknown): Record<string, unknown> | undefined {
  const choice = fieldsOf((fieldsOf(body)['choices'] as unknown[] | undefined)?.[0]);
  const calls = fieldsOf(choice['message'])['tool_calls'];
  const call = Array.isArray(calls) ? fieldsOf(fieldsOf(calls[0])['function'])['arguments'] : undefined;
  const text = typeof call === 'string' ? call : answerTurns(body).at(-1)?.text;
  if (text === undefined || !text.trimStart().startsWith('{')) return undefined;
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function toTurn(value: unknown): Turn {
  if (typeof value === 'string') return { role: 'user', text: value };
  const { role, type, content, tool_calls: calls, ...rest } = fieldsOf(value);
  const parts = [content, calls].filter((each) => each !== undefined && each !== null);
  const text =
    parts.length > 0 ? parts.map(textOf).filter(Boolean).join('\n') : JSON.stringify(rest, null, 2);
  return { role: stringOr(role, stringOr(type, 'item')), text };
}

/** Text of a content: its parts, one a line; parts without text as JSON. */
function textOf(content: unknown): string {
  if (typeof content === 'string') return content;
  if (content === undefined || content === null) return '';
  if (Array.isArray(content)) return content.map(partText).join('\n');
  return JSON.stringify(content, null, 2);
}

function partText(part: unknown): string {
  if (typeof part === 'string') return part;
  const { text, function: called } = fieldsOf(part);
  if (typeof text === 'string') return text;
  if (isObject(called)) return `${String(called['name'])}(${String(called['arguments'])})`;
  return JSON.stringify(part);
}
