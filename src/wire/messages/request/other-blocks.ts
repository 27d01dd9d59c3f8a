import { fieldsOf } from '../../../base/fields.ts';
import { invalid } from '../../../core/errors.ts';
import type { PathMap } from '../../shared/path-map.ts';
import type { Block, MessagesRequest, MessagesTurn } from '../messages.ts';

/** Blocks beside those of a chat: calls of tools that ran on another server, their results, and what that server left behind. */

/** Blocks that are left out, each for the reason that docs/messages.md names. */
const leftOut = new Set('redacted_thinking mcp_tool_listing fallback tool_addition tool_removal'.split(' '));
const read = new Set(
  'text thinking tool_use server_tool_use mcp_tool_use search_result compaction'.split(' '),
);

export function isServerCall({ type }: Block): boolean {
  return type === 'server_tool_use' || type === 'mcp_tool_use';
}

export function isServerResult({ type }: Block): boolean {
  return type !== 'tool_result' && type.endsWith('_tool_result');
}

/** The name of a call that a server made, as the model sees it. */
export function serverCallName({ name = '', server_name: server }: Block): string {
  const whole = typeof server === 'string' ? `${server}__${name}` : name;
  return whole.replaceAll(/[^a-zA-Z0-9_-]/g, '_').slice(0, 64);
}

/** Members that say nothing, or only to the server that made them. */
const unread = new Set(
  `type id tool_use_id encrypted_content encrypted_stdout encrypted_index signature media_type cache_control caller citations
  file_id page_age retrieved_at`.split(/\s+/),
);

/** All text in a block, line by line. */
export function textIn(value: unknown): string {
  if (typeof value === 'string') return value;
  if (Array.isArray(value)) return lines(value);
  if (fieldsOf(value)['type'] === 'base64') return '';
  return lines(Object.entries(fieldsOf(value)).flatMap(([name, each]) => (unread.has(name) ? [] : [each])));
}

const lines = (values: unknown[]) =>
  values
    .map(textIn)
    .filter((text) => text !== '')
    .join('\n');

/** The summary that replaces all before it; undefined without a readable one. */
export function summaryOf({ type, content }: Block): string | undefined {
  return type === 'compaction' && typeof content === 'string' && content !== '' ? content : undefined;
}

/** The place of the last summary: its turn and its block. */
export function lastSummary(
  turns: readonly MessagesTurn[],
): { turn: number; block: number; summary: string } | undefined {
  for (let turn = turns.length - 1; turn >= 0; turn--) {
    const { content } = turns[turn]!;
    if (typeof content === 'string') continue;
    const block = content.findLastIndex((each) => summaryOf(each) !== undefined);
    if (block >= 0) return { turn, block, summary: summaryOf(content[block]!)! };
  }
  return undefined;
}

/**
 * Finds blocks that only another server can read: a translated conversation would lose them.
 * @throws ApiError `validation_error` (422)
 */
export function requireReadable({ messages }: MessagesRequest, paths: PathMap): void {
  const refuse = (place: string, why: string) => {
    // It is a place of the request as it was sent already.
    paths.set(place, place);
    return invalid(place, why);
  };
  const from = lastSummary(messages)?.turn ?? 0;
  for (const [at, { role, content }] of messages.entries()) {
    if (at < from || role !== 'assistant' || typeof content === 'string') continue;
    for (const [index, block] of content.entries()) {
      const place = `messages[${at}].content[${index}]`;
      if (block.type === 'compaction' && block.encrypted_content && summaryOf(block) === undefined)
        throw refuse(
          `${place}.encrypted_content`,
          'another server made this summary, and only that one can read it: send the conversation itself',
        );
      if (!read.has(block.type) && !leftOut.has(block.type) && !isServerResult(block))
        throw refuse(
          `${place}.type`,
          `"${block.type}": this type of block cannot be passed on to the model: leave it out, or send what it says as text`,
        );
    }
  }
}
