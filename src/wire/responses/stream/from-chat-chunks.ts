import type { ChatChunk, ChatUsage, FinishReason } from '../../chat/chat.ts';
import type { ClientNames } from '../client-tools.ts';
import type { EventFields } from '../answer/item-events.ts';
import { OutputBuilder } from '../answer/output-builder.ts';
import type { OutputPiece } from '../answer/output-builder.ts';
import { finishResponse, incompleteReason } from '../answer/response-body.ts';
import type { ResponseBody, ResponseEvent } from '../responses.ts';

/**
 * Turns the chunks of a chat into the events of a response: `created` and `in_progress` with the first chunk, the items as
 * they grow, and one last event with the whole response. Numbers have no gaps.
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

  /** The events of these chunks, in order. */
  read(chunks: readonly ChatChunk[]): ResponseEvent[] {
    for (const chunk of chunks) this.#read(chunk);
    return this.#taken();
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

  /**
   * The end of an answer that is whole: the events that close it, and the response to be kept before they are sent.
   * @param at Unix seconds
   */
  end(at: number): { body: ResponseBody; events: ResponseEvent[] } {
    this.#output.close(incompleteReason(this.#finish) === null ? 'completed' : 'incomplete');
    const { items: output } = this.#output;
    const body = finishResponse(this.#body, { output, finish: this.#finish, usage: this.#usage, at });
    this.#push({ type: `response.${body.status}`, response: body });
    return { body, events: this.#taken() };
  }

  /** What is left of an answer that broke off, or undefined when nothing of it was sent. */
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

  #taken(): ResponseEvent[] {
    const taken = this.#events;
    this.#events = [];
    return taken;
  }
}

/** How every stream begins. A response in the background was queued before. */
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
