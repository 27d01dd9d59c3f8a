import type { EngineCall } from '../engines/engines.ts';
import { type Answering, goesNatively } from './answering.ts';
import type { Generate, LineAnswer } from './generate.ts';
import type { Lanes } from './lanes.ts';

/** Runs lines of batches, in the format of each. */
export function createRunLine(lanes: Lanes, answering: Answering): Generate['runLine'] {
  return async ({ model, orgId, asked, prefix, deadline, signal, known }) => {
    const { pool, admission } = lanes.of(model.id);
    const leave = admission.enter('batch');
    if (known) known.model = model.id;
    const how: EngineCall = {
      signal,
      priority: 'batch',
      prefix,
      org: orgId,
      deadline,
      ...(known && { known }),
    };
    let isAnswered = false;
    const served = { pool, model };
    const run = async (): Promise<LineAnswer> => {
      if (asked.kind === 'embeddings') return answering.embed(served, asked.request(), how);
      if (asked.kind === 'completions') return answering.complete(served, asked.request(), how);
      // What is asked is not kept here: it is let go when it is sent.
      const promised = await answering.promise(pool, asked.chat, orgId, signal);
      const { native } = asked;
      if (native && goesNatively(pool, native.op, asked.chat)) {
        const { body, usage } = await answering.native(served, native.op, native.request(), how);
        return { body: native.answer(body, answering.name(model)), usage };
      }
      const { body, usage } = await answering.chat(served, asked.request(), promised, how);
      return { body: asked.told(body), usage };
    };
    try {
      const answer = await run();
      isAnswered = true;
      if (known) known.billed = answer.usage;
      return answer;
    } catch (error) {
      throw asked.moved(error);
    } finally {
      leave(isAnswered);
    }
  };
}
