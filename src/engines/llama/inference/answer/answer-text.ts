import type { ChatDelta, TokenLogprob } from '../../../../wire/chat/chat.ts';
import { createChannelSegmenter } from './channels.ts';
import type { Family } from '../families.ts';
import type { Segment, Segmenter, WrittenCall } from './segments.ts';
import { createStopFilter } from './stop.ts';
import { createThinkingSegmenter } from './thinking.ts';
import { createCallSegmenter } from './tool-calls.ts';

export type AnswerText = ReturnType<typeof createAnswerText>;

/** A token with its log probability, once its text is certain. */
export interface CertainToken {
  /** Text that it adds to the answer. */
  text: string;
  logprob: TokenLogprob;
}

/** Tools that an answer may call. */
export interface CallableTools {
  names: ReadonlySet<string>;
  /** Calls in one answer. */
  maxCalls: number;
  newCallId: () => string;
}

export interface AnswerOptions {
  /** Null for a raw text without reasoning and calls, of which every token is reported. */
  family: Family | null;
  /** The prompt ended inside the reasoning. */
  isThinking?: boolean;
  stops: readonly string[];
  /** Undefined leaves calls in the text. */
  tools?: CallableTools | undefined;
  /** Gets a call as two deltas: its head and its arguments. */
  onDelta: (delta: ChatDelta, certain?: readonly CertainToken[]) => void;
}

/** Reads one answer: separates reasoning and calls, cuts at stop strings, and reports deltas once they are certain. */
export function createAnswerText(options: AnswerOptions) {
  const { family, tools, onDelta } = options;
  const segmenter = segmenterOf(options);
  const filter = createStopFilter(options.stops);
  // In channels, the header of a call names it.
  const callSegmenter =
    tools && family?.hasChannels === false ? createCallSegmenter(tools.names, family.calls) : plain;
  const read = {
    calls: 0,
    /** Text so far, up to the stop string. */
    raw: '',
    /** Number of reasoning tokens, without the markers around them. */
    reasoningTokens: 0,
    /** Stop string that ended the answer. */
    stop: undefined as string | undefined,
  };
  // Log probabilities wait until the text of their token is certain.
  const waiting: (CertainToken & { at: number })[] = [];
  let received = 0;
  /** Tokens whose text is held back until it can be classified. */
  let undecided = 0;

  function countReasoningTokens(segments: readonly Segment[]): void {
    if (segments.length === 0) return;
    if (segments.some(({ kind }) => kind === 'reasoning')) read.reasoningTokens += undecided;
    undecided = 0;
  }

  /** Returns true at a stop string. */
  function take(segment: Segment): boolean {
    switch (segment.kind) {
      case 'call':
        reportCall(segment.call);
        return false;
      case 'content': {
        const cut = filter.push(segment.text);
        addContent(cut.text);
        read.stop ??= cut.stop;
        return cut.stop !== undefined;
      }
      default:
        read.raw += segment.text;
        // Drops the log probabilities of reasoning and markers.
        takeCertain();
        // Some clients read one name, some the other.
        if (segment.kind === 'reasoning')
          onDelta({ reasoning: segment.text, reasoning_content: segment.text });
        return false;
    }
  }

  function addContent(text: string): void {
    read.raw += text;
    callSegmenter.push(text).forEach(report);
  }

  function report(segment: Segment): void {
    if (segment.kind === 'call') reportCall(segment.call);
    else if (segment.text !== '') onDelta({ content: segment.text }, takeCertain());
  }

  /** Takes the log probabilities of all tokens that were read to their end. */
  function takeCertain(): CertainToken[] {
    const open = waiting.findIndex(({ at }) => at >= read.raw.length);
    return waiting.splice(0, open === -1 ? waiting.length : open);
  }

  function reportCall({ name, arguments: given }: WrittenCall): void {
    if (isFull()) return;
    const index = read.calls++;
    onDelta({
      tool_calls: [{ index, id: tools!.newCallId(), type: 'function', function: { name, arguments: '' } }],
    });
    onDelta({ tool_calls: [{ index, function: { arguments: given } }] });
  }

  const isFull = (): boolean => tools !== undefined && read.calls >= tools.maxCalls;

  return Object.assign(read, {
    /** Adds the text of one token. Returns true if the answer has ended: at a stop string, or after the last allowed call. */
    push(text: string, logprob?: TokenLogprob): boolean {
      if (logprob) waiting.push({ at: received, text, logprob });
      received += text.length;
      undecided += 1;
      if (text === '') return false;
      const segments = segmenter.push(text);
      countReasoningTokens(segments);
      for (const segment of segments) if (take(segment)) return true;
      return isFull();
    },
    /** Adds text that stop strings do not cut. */
    append(text: string) {
      addContent(filter.end());
      for (const segment of segmenter.push(text)) {
        if (segment.kind === 'content') addContent(segment.text);
        else take(segment);
      }
    },
    end() {
      const segments = segmenter.end();
      countReasoningTokens(segments);
      for (const segment of segments) take(segment);
      addContent(filter.end());
      callSegmenter.end().forEach(report);
      // Tokens without a text, and the one that ended the answer.
      if (!family && read.stop === undefined && waiting.length > 0)
        onDelta({ content: '' }, waiting.splice(0));
    },
  });
}

const plain: Segmenter = { push: (text) => [{ kind: 'content', text }], end: () => [] };

function segmenterOf({ family, isThinking = false, tools }: AnswerOptions): Segmenter {
  if (family?.hasChannels) return createChannelSegmenter(tools?.names ?? new Set());
  if (family?.thinking) return createThinkingSegmenter(family.thinking, isThinking);
  return plain;
}
