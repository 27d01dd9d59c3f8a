import { type Fields, fieldsOf } from '../../../base/fields.ts';
import type { ResultLine } from '../../../client/resources.ts';

/** Members of a result line that tables show, for every request format. */
export interface Answer {
  /** Text of the answer, or its tool calls, vector, scores, ranking or moderation; null without an answer. */
  content: unknown;
  finish_reason: unknown;
  input_tokens: unknown;
  output_tokens: unknown;
  error_code: unknown;
  error_message: unknown;
}

export function answerOf(line: Pick<ResultLine, 'response' | 'error'>): Answer {
  const body = fieldsOf(line.response?.body);
  const usage = fieldsOf(body['usage']);
  const error = fieldsOf(line.error ?? body['error']);
  return {
    content: contentOf(body),
    finish_reason: finishOf(body),
    input_tokens: usage['prompt_tokens'] ?? usage['input_tokens'] ?? null,
    output_tokens: usage['completion_tokens'] ?? usage['output_tokens'] ?? null,
    error_code: error['code'] ?? null,
    error_message: error['message'] ?? null,
  };
}

function listOf(value: unknown): Fields[] {
  return Array.isArray(value) ? value.map(fieldsOf) : [];
}

function contentOf(body: Fields): unknown {
  const [choice] = listOf(body['choices']);
  if (choice !== undefined) {
    const message = fieldsOf(choice['message']);
    return message['content'] ?? choice['text'] ?? message['tool_calls'] ?? message['refusal'] ?? null;
  }
  const data = listOf(body['data']);
  if (data.length > 0) return data[0]!['embedding'] ?? data.map(({ score }) => score);
  const results = listOf(body['results']);
  if (results.length > 0) return results[0]!['categories'] === undefined ? results : results[0];
  const parts = [
    ...listOf(body['content']),
    ...listOf(body['output']).flatMap((item) => listOf(item['content'])),
  ];
  const text = parts.flatMap((part) => (typeof part['text'] === 'string' ? part['text'] : [])).join('');
  return text === '' ? (body['output'] ?? body['content'] ?? null) : text;
}

function finishOf(body: Fields): unknown {
  const [choice] = listOf(body['choices']);
  return choice?.['finish_reason'] ?? body['stop_reason'] ?? (body['output'] ? body['status'] : null) ?? null;
}
