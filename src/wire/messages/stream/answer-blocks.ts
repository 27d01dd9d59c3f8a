import { ApiError } from '../../../core/errors.ts';
import type { ChatDelta } from '../../chat/chat.ts';
import type { AnswerBlock, BlockDelta, MessageEvent } from '../messages.ts';
import { signatureFor } from '../signature.ts';
import { isCompleteInput, parseToolInput } from '../tool-input.ts';

/**
 * The blocks of a streamed answer, strictly one after the other. Chat lets calls grow side by side and text come between
 * them; here a block that was closed is closed for good. So the first block that is not closed goes out as it comes, the
 * ones behind it wait, and it is closed when another has begun and nothing more can belong to it: for a call, when its
 * arguments are a whole object.
 */
export function createAnswerBlocks({ hidesThinking }: { hidesThinking: boolean }) {
  /** The first one is open when `isOpen`; the others wait. */
  const growing: PendingBlock[] = [];
  const calls = new Map<number, PendingBlock>();
  let index = 0;
  let isOpen = false;

  function grow(kind: 'thinking' | 'text', text: string): void {
    if (text === '') return;
    let last = growing.at(-1);
    if (last?.kind !== kind) growing.push((last = { ...nothing, kind }));
    append(last, text);
  }

  function growCall({ index: at, id, function: called }: NonNullable<ChatDelta['tool_calls']>[number]): void {
    let call = calls.get(at);
    if (!call) {
      if (!id || !called?.name)
        throw new ApiError('invalid_upstream_response', 'The engine called a tool without a name or an id.');
      call = { ...nothing, kind: 'call', id, name: called.name };
      calls.set(at, call);
      growing.push(call);
    }
    append(call, called?.arguments ?? '');
  }

  /** Sends what can be sent of the first block. Arguments that do not begin as an object wait until they are made one. */
  function send(): MessageEvent[] {
    const [block] = growing;
    if (!block) return [];
    const events: MessageEvent[] = [];
    if (!isOpen) events.push({ type: 'content_block_start', index, content_block: startOf(block) });
    isOpen = true;
    if (isRepaired(block)) return events;
    const rest = block.unsent;
    block.unsent = '';
    if (rest !== '' && !(block.kind === 'thinking' && hidesThinking))
      events.push(delta(deltaOf(block, rest)));
    return events;
  }

  function close(): MessageEvent[] {
    const block = growing.shift()!;
    const last: MessageEvent[] = [];
    if (block.kind === 'thinking')
      last.push(delta({ type: 'signature_delta', signature: signatureFor(block.text, hidesThinking) }));
    if (isRepaired(block))
      last.push(
        delta({ type: 'input_json_delta', partial_json: JSON.stringify(parseToolInput(block.text)) }),
      );
    last.push({ type: 'content_block_stop', index });
    index += 1;
    isOpen = false;
    return last;
  }

  const delta = (what: BlockDelta): MessageEvent => ({ type: 'content_block_delta', index, delta: what });

  function advance(isOver: boolean): MessageEvent[] {
    const events = send();
    while (growing.length > (isOver ? 0 : 1)) {
      const [first] = growing;
      if (!isOver && first!.kind === 'call' && !isCompleteInput(first!.text)) break;
      events.push(...close(), ...send());
    }
    return events;
  }

  return {
    push({ reasoning_content: thought, reasoning, content, refusal, tool_calls: called }: ChatDelta) {
      grow('thinking', thought ?? reasoning ?? '');
      grow('text', (content ?? '') + (refusal ?? ''));
      for (const each of called ?? []) growCall(each);
      return advance(false);
    },
    /** What is still open or waiting. */
    end: () => advance(true),
    get hasCalls() {
      return calls.size > 0;
    },
  };
}

interface PendingBlock {
  kind: 'thinking' | 'text' | 'call';
  id: string;
  name: string;
  text: string;
  /** The end of the text, which has not gone out. Kept apart: cutting it off the text would copy all of it every time. */
  unsent: string;
  /** The first letter of the text that is no blank, or empty. Kept apart for the same reason. */
  first: string;
}

const nothing = { id: '', name: '', text: '', unsent: '', first: '' };

function append(block: PendingBlock, text: string): void {
  block.text += text;
  block.unsent += text;
  if (block.first === '') block.first = text.trimStart().slice(0, 1);
}

/** Whether these are arguments that are no object as they come. */
function isRepaired({ kind, first }: PendingBlock): boolean {
  return kind === 'call' && first !== '{';
}

function startOf({ kind, id, name }: PendingBlock): AnswerBlock {
  if (kind === 'text') return { type: 'text', text: '' };
  if (kind === 'thinking') return { type: 'thinking', thinking: '', signature: '' };
  return { type: 'tool_use', id, name, input: {} };
}

function deltaOf({ kind }: PendingBlock, text: string): BlockDelta {
  if (kind === 'text') return { type: 'text_delta', text };
  if (kind === 'thinking') return { type: 'thinking_delta', thinking: text };
  return { type: 'input_json_delta', partial_json: text };
}
