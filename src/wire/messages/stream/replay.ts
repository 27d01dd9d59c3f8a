import { typedEvent } from '../../shared/sse.ts';

/** Message in the form of its client: of a chat completion, or of a server that supports messages. */
interface FinishedMessage {
  content: Block[];
  stop_reason: string | null;
  stop_sequence: string | null;
  stop_details?: object | null;
  container?: object | null;
  usage: { output_tokens: number; service_tier?: string | null };
}

/** Block of an answer; its type determines its fields. */
interface Block {
  type: string;
  text?: string;
  thinking?: string;
  signature?: string;
  input?: unknown;
}

/** Events of a finished message, with the whole of each block in one delta. */
export function* replayMessage(text: string): Generator<string> {
  const { content, ...message } = JSON.parse(text) as FinishedMessage;
  const { stop_reason, stop_sequence, stop_details, container, usage } = message;
  const begun = { ...message, content: [], stop_reason: null, stop_sequence: null, stop_details: null };
  const message_start = { ...begun, usage: { ...usage, output_tokens: 0 } };
  yield event({ type: 'message_start', message: message_start });
  for (const [index, block] of content.entries()) {
    yield event({ type: 'content_block_start', index, content_block: { ...block, ...emptied(block) } });
    for (const delta of deltasOf(block)) yield event({ type: 'content_block_delta', index, delta });
    yield event({ type: 'content_block_stop', index });
  }
  const { service_tier: _, ...counts } = usage;
  const ending = { stop_reason, stop_sequence, stop_details, container };
  yield event({ type: 'message_delta', delta: ending, usage: counts });
  yield event({ type: 'message_stop' });
}

const event = (fields: { type: string } & Record<string, unknown>): string => typedEvent(fields);

function emptied({ type }: Block): Partial<Block> {
  if (type === 'text') return { text: '' };
  if (type === 'thinking') return { thinking: '', signature: '' };
  return isCall(type) ? { input: {} } : {};
}

function deltasOf({ type, text, thinking, signature, input }: Block): object[] {
  if (type === 'text') return text ? [{ type: 'text_delta', text }] : [];
  if (isCall(type)) return [{ type: 'input_json_delta', partial_json: JSON.stringify(input) }];
  if (type !== 'thinking') return [];
  return [
    ...(thinking ? [{ type: 'thinking_delta', thinking }] : []),
    { type: 'signature_delta', signature: signature ?? '' },
  ];
}

/** Calls of the client's tools, and of those of a server (`server_tool_use`). */
function isCall(type: string): boolean {
  return type.endsWith('tool_use');
}
