import { fieldsOf } from '../../../base/fields.ts';
import { invalid } from '../../../core/errors.ts';
import type { PathMap } from '../../shared/path-map.ts';
import type { Block, MessagesRequest, MessagesTurn } from '../messages.ts';

/** Block types that are dropped, for the reasons in docs/messages.md. */
const dropped = new Set('redacted_thinking mcp_tool_listing fallback tool_addition tool_removal'.split(' '));
const read = new Set(
  'text thinking tool_use server_tool_use mcp_tool_use search_result compaction'.split(' '),
);

export function isServerCall({ type }: Block): boolean {
  return type === 'server_tool_use' || type === 'mcp_tool_use';
}

export function isServerResult({ type }: Block): boolean {
  return type !== 'tool_result' && type.endsWith('_tool_result');
}

/** Name that the model sees for a call that a server made. */
export function serverCallName({ name = '', server_name: server }: Block): string {
  const whole = typeof server === 'string' ? `${server}__${name}` : name;
  return whole.replaceAll(/[^a-zA-Z0-9_-]/g, '_').slice(0, 64);
}

/** Members without text, or meant only for the server that wrote them. */
const opaque = new Set(
  `type id tool_use_id encrypted_content encrypted_stdout encrypted_index signature media_type cache_control caller citations
  file_id page_age retrieved_at`.split(/\s+/),
);

/** All text of a block, line by line. */
export function textIn(value: unknown): string {
  if (typeof value === 'string') return value;
  if (Array.isArray(value)) return lines(value);
  if (fieldsOf(value)['type'] === 'base64') return '';
  return lines(Object.entries(fieldsOf(value)).flatMap(([name, each]) => (opaque.has(name) ? [] : [each])));
}

const lines = (values: unknown[]) =>
  values
    .map(textIn)
    .filter((text) => text !== '')
    .join('\n');

/** Readable summary of a compaction block, which replaces all before it. */
export function summaryOf({ type, content }: Block): string | undefined {
  return type === 'compaction' && typeof content === 'string' && content !== '' ? content : undefined;
}

/** Last summary, with the indexes of its turn and block. */
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

/** Rejects blocks that translation would lose, because only another server can read them. @throws ApiError `validation_error` (422) */
export function requireReadable({ messages }: MessagesRequest, paths: PathMap): void {
  const refuse = (path: string, why: string) => {
    // The path is already one of the client's request.
    paths.set(path, path);
    return invalid(path, why);
  };
  const from = lastSummary(messages)?.turn ?? 0;
  for (const [at, { role, content }] of messages.entries()) {
    if (at < from || role !== 'assistant' || typeof content === 'string') continue;
    for (const [index, block] of content.entries()) {
      const path = `messages[${at}].content[${index}]`;
      if (block.type === 'compaction' && block.encrypted_content && summaryOf(block) === undefined)
        throw refuse(
          `${path}.encrypted_content`,
          'only the server that made this summary can read it: send the conversation itself',
        );
      if (!read.has(block.type) && !dropped.has(block.type) && !isServerResult(block))
        throw refuse(
          `${path}.type`,
          `"${block.type}" blocks cannot be passed to the model: remove the block, or send its content as text`,
        );
    }
  }
}
