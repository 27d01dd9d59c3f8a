import type { EngineCall } from '../engines/engines.ts';
import { type Answering, goesNatively } from './answering.ts';
import type { Inference, LineAnswer } from './inference.ts';
import type { Lanes } from './lanes.ts';

/** Runs lines of batches, in the format of each. */
export function createRunLine(lanes: Lanes, answering: Answering): Inference['runLine'] {
  return async ({ model, orgId, asked, prefix, deadline, isRepeat, signal, known }) => {
    const { pool, admission } = lanes.of(model.id);
    const leave = admission.enter('batch');
    if (known) known.model = model.id;
    const how: EngineCall = {
      signal,
      priority: 'batch',
      prefix,
      org: orgId,
      deadline,
      ...(isRepeat && { isRepeat }),
      ...(known && { trace: known }),
    };
    const served = { pool, model };
    let answer: LineAnswer | undefined;
    try {
      if (asked.kind === 'embeddings') answer = await answering.embed(served, asked.request(), how);
      else if (asked.kind === 'completions') answer = await answering.complete(served, asked.request(), how);
      else {
        // What is asked is not kept here: it is let go when it is sent.
        const promised = await answering.promise(served, asked.chat, orgId, signal);
        const { native } = asked;
        if (native && goesNatively(pool, native.op, asked.chat)) {
          const { body, usage } = await answering.native(served, native.op, native.request(), how);
          answer = { body: native.answer(body, answering.name(model)), usage };
        } else {
          const { body, usage } = await answering.chat(served, asked.request(), promised, how);
          answer = { body: asked.present(body), usage };
        }
      }
      if (known) known.billed = answer.usage;
      return answer;
    } catch (error) {
      throw asked.mapError(error);
    } finally {
      leave(answer !== undefined);
    }
  };
}
