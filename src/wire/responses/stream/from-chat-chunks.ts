import type { ChatChunk, ChatUsage, FinishReason } from '../../chat/chat.ts';
import type { ClientNames } from '../client-tools.ts';
import type { EventFields } from '../answer/item-events.ts';
import { OutputBuilder, type OutputPiece } from '../answer/output-builder.ts';
import { finishResponse, incompleteReason } from '../answer/response-body.ts';
import type { ResponseBody, ResponseEvent } from '../responses.ts';

/**
 * Converts chat chunks to response events: `created` and `in_progress` with the first chunk, then the items as they grow, and
 * a last event with the whole response. Sequence numbers have no gaps.
 */
export class ResponseStream {
  #body: ResponseBody;
  #output: OutputBuilder;
  #events: ResponseEvent[] = [];
  #next = 0;
  #finish: FinishReason = 'stop';
  #usage: ChatUsage | null = null;

  /** @param clientNames tools that the client calls otherwise than the model */
  constructor(begun: ResponseBody, newCallId: () => string, clientNames: ClientNames = new Map()) {
    this.#body = begun;
    this.#output = new OutputBuilder({
      responseId: begun.id,
      emit: (fields) => this.#push(fields),
      newCallId,
      clientNames,
    });
  }

  get pieces(): readonly OutputPiece[] {
    return this.#output.pieces;
  }

  read(chunks: readonly ChatChunk[]): ResponseEvent[] {
    for (const chunk of chunks) this.#read(chunk);
    return this.#takeEvents();
  }

  #read(chunk: ChatChunk): void {
    if (this.#next === 0) this.#begin(chunk.model);
    if (chunk.usage) this.#usage = chunk.usage;
    const choice = chunk.choices.find(({ index }) => index === 0);
    if (choice) {
      this.#output.add(choice.delta, choice.logprobs?.content ?? [], choice.delta.tool_calls);
      this.#finish = choice.finish_reason ?? this.#finish;
    }
  }

  /** Last events of a complete answer, and the response to store before they are sent. @param at Unix seconds */
  end(at: number): { body: ResponseBody; events: ResponseEvent[] } {
    this.#output.close(incompleteReason(this.#finish) === null ? 'completed' : 'incomplete');
    const { items: output } = this.#output;
    const body = finishResponse(this.#body, { output, finish: this.#finish, usage: this.#usage, at });
    this.#push({ type: `response.${body.status}`, response: body });
    return { body, events: this.#takeEvents() };
  }

  /** Response of a failed stream; undefined if nothing of it was sent. */
  fail(error: NonNullable<ResponseBody['error']>): ResponseBody | undefined {
    if (this.#next === 0) return undefined;
    this.#output.abandon();
    return { ...this.#body, status: 'failed', error, output: this.#output.items };
  }

  #begin(model: string): void {
    this.#body = { ...this.#body, model };
    for (const event of firstEvents(this.#body)) this.#push(event);
  }

  #push(fields: EventFields): void {
    this.#events.push({ ...fields, sequence_number: this.#next++ });
  }

  #takeEvents(): ResponseEvent[] {
    const events = this.#events;
    this.#events = [];
    return events;
  }
}

/** First events of every stream. A background response was queued before. */
export function firstEvents(body: ResponseBody): { type: string; response: ResponseBody }[] {
  const begun: ResponseBody = {
    ...body,
    status: 'in_progress',
    completed_at: null,
    error: null,
    incomplete_details: null,
    output: [],
    usage: null,
  };
  const queued: ResponseBody = { ...begun, status: 'queued' };
  return [
    { type: 'response.created', response: body.background ? queued : begun },
    ...(body.background ? [{ type: 'response.queued', response: queued }] : []),
    { type: 'response.in_progress', response: begun },
  ];
}
