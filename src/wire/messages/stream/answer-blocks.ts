import { ApiError } from '../../../core/errors.ts';
import type { ChatDelta } from '../../chat/chat.ts';
import type { AnswerBlock, BlockDelta, MessageEvent } from '../messages.ts';
import { signatureFor } from '../signature.ts';
import { isCompleteInput, parseToolInput } from '../tool-input.ts';

/**
 * Sequences the blocks of a streamed answer. Chat interleaves calls and text, but here a closed block cannot be reopened. The
 * first open block is streamed and the others wait. It is closed when another has begun and it is complete: for a call, when
 * its arguments are a whole object.
 */
export function createAnswerBlocks({ hidesThinking }: { hidesThinking: boolean }) {
  /** The first is open if `isOpen`; the others wait. */
  const pending: PendingBlock[] = [];
  const calls = new Map<number, PendingBlock>();
  let index = 0;
  let isOpen = false;

  function grow(kind: 'thinking' | 'text', text: string): void {
    if (text === '') return;
    let last = pending.at(-1);
    if (last?.kind !== kind) pending.push((last = { ...emptyBlock, kind }));
    append(last, text);
  }

  function growCall({ index: at, id, function: called }: NonNullable<ChatDelta['tool_calls']>[number]): void {
    let call = calls.get(at);
    if (!call) {
      if (!id || !called?.name)
        throw new ApiError('invalid_upstream_response', 'The engine called a tool without a name or an id.');
      call = { ...emptyBlock, kind: 'call', id, name: called.name };
      calls.set(at, call);
      pending.push(call);
    }
    append(call, called?.arguments ?? '');
  }

  /** Sends the new text of the first block. Arguments that do not start as an object wait for the repair at the end. */
  function send(): MessageEvent[] {
    const [block] = pending;
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
    const block = pending.shift()!;
    const events: MessageEvent[] = [];
    if (block.kind === 'thinking')
      events.push(delta({ type: 'signature_delta', signature: signatureFor(block.text, hidesThinking) }));
    if (isRepaired(block))
      events.push(
        delta({ type: 'input_json_delta', partial_json: JSON.stringify(parseToolInput(block.text)) }),
      );
    events.push({ type: 'content_block_stop', index });
    index += 1;
    isOpen = false;
    return events;
  }

  const delta = (change: BlockDelta): MessageEvent => ({ type: 'content_block_delta', index, delta: change });

  function advance(isOver: boolean): MessageEvent[] {
    const events = send();
    while (pending.length > (isOver ? 0 : 1)) {
      const [first] = pending;
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
    /** Events of the blocks that are open or waiting. */
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
  /** Unsent end of `text`; kept apart, because slicing the text would copy all of it every time. */
  unsent: string;
  /** First character of the text that is not white space; kept apart for the same reason. */
  first: string;
}

const emptyBlock = { id: '', name: '', text: '', unsent: '', first: '' };

function append(block: PendingBlock, text: string): void {
  block.text += text;
  block.unsent += text;
  if (block.first === '') block.first = text.trimStart().slice(0, 1);
}

/** True for arguments that are not an object, which are sent repaired at the end. */
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
