import type { EngineCall } from '../engines/engines.ts';
import { type EngineCalls, goesNatively } from './engine-calls.ts';
import type { Inference, LineAnswer } from './inference.ts';
import type { ServedModels } from './served-models.ts';

/** Runs batch lines, each in its own format. */
export function createRunLine(models: ServedModels, calls: EngineCalls): Inference['runLine'] {
  return async ({ model, id: line, orgId, weight = 1, asked, prefix, signal, trace, ...more }) => {
    const { pool, admission } = models.require(model.id);
    const isInteractive = more.isInteractive === true && pool.capabilities.batchOnly !== true;
    const priority = isInteractive ? 'interactive' : 'batch';
    const leave = admission.enter(priority);
    if (trace) trace.model = model.id;
    const engineCall: EngineCall = {
      signal,
      line,
      priority,
      prefix,
      org: orgId,
      weight,
      ...(priority === 'batch' && { deadline: more.deadline }),
      ...(more.isRepeat === true && { isRepeat: true }),
      ...(trace && { trace }),
    };
    const served = { pool, model };
    let answer: LineAnswer | undefined;
    try {
      if (asked.kind === 'completions') answer = await calls.complete(served, asked.request(), engineCall);
      else if (asked.kind !== 'chat')
        answer = await calls.direct(served, asked.kind, asked.request(), engineCall);
      else {
        // No variable holds the built request, so that its memory is free once it is sent.
        const guarantee = await calls.guarantee(served, asked.chat, orgId, signal);
        const { native } = asked;
        if (native && goesNatively(pool, native.op, asked.chat)) {
          const { body, usage } = await calls.native(served, native.op, native.request(), engineCall);
          answer = { body: native.answer(body, calls.name(model)), usage };
        } else {
          const { body, usage } = await calls.chat(served, asked.request(), guarantee, engineCall);
          answer = { body: asked.present(body), usage };
        }
      }
      if (trace) trace.billed = answer.usage;
      return answer;
    } catch (error) {
      throw asked.mapError(error);
    } finally {
      leave(answer !== undefined);
    }
  };
}
