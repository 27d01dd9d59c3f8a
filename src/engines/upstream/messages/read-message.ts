import { type Fields, fieldsOf, stringOr } from '../../../base/fields.ts';
import { unusable } from '../connection/parse-body.ts';

/** Fields of a message as those of a chat completion. @throws ApiError `invalid_upstream_response` for anything else */
export function chatFields(message: Fields): Fields {
  if (!Array.isArray(message['content'])) throw unusable('is not a message');
  const blocks = blocksOf(message);
  const text = joined(blocks, 'text', 'text');
  const calls = blocks.filter(({ type }) => type === 'tool_use').map(toCall);
  return {
    id: message['id'],
    model: message['model'],
    choices: [
      {
        index: 0,
        message: {
          content: text === '' && calls.length > 0 ? null : text,
          reasoning: joined(blocks, 'thinking', 'thinking'),
          ...(text === '' && refusalOf(message)),
          tool_calls: calls,
        },
        ...ending(message),
      },
    ],
    usage: message['usage'],
  };
}

export function blocksOf({ content }: Fields): Fields[] {
  return Array.isArray(content) ? content.map(fieldsOf) : [];
}

/** End of a message; `finish-reason.ts` maps its reasons. */
export function ending({ stop_reason: reason, stop_sequence: sequence }: Fields): Fields {
  return { finish_reason: reason, ...(typeof sequence === 'string' && { stop_reason: sequence }) };
}

export function refusalOf({ stop_details: details }: Fields): Fields {
  const { explanation } = fieldsOf(details);
  return typeof explanation === 'string' ? { refusal: explanation } : {};
}

/** Merges the usage of an event; figures that it lacks keep their values. */
export function mergeUsage(usage: Fields, more: unknown): void {
  for (const [name, value] of Object.entries(fieldsOf(more))) if (value !== null) usage[name] = value;
}

function joined(blocks: readonly Fields[], type: string, member: string): string {
  return blocks.map((block) => (block['type'] === type ? stringOr(block[member], '') : '')).join('');
}

function toCall({ id, name, input }: Fields): Fields {
  return { id, function: { name, arguments: input } };
}
