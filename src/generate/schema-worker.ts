import { parentPort } from 'node:worker_threads';
import { createSchemaChecker } from './schema-checker.ts';
import type { FromSchemaWorker, SchemaJob, SchemaVerdict } from './schema-thread.ts';

/** The thread in which schemas of strangers are compiled and applied; its parent ends it when that takes too long. */
const port = parentPort!;
const checker = createSchemaChecker();

port.on('message', ({ id, schema, text }: SchemaJob & { id: number }) => {
  answer({ id, verdict: judge({ schema, text }) });
});
// What is made once, the meta-schemas above all, is no job's time.
checker.trial('{"$schema":"http://json-schema.org/draft-07/schema#","pattern":"a"}');
checker.trial('{"pattern":"a"}');
answer('ready');

function judge({ schema, text }: SchemaJob): SchemaVerdict {
  try {
    const fault = text === null ? checker.trial(schema) : checker.check(schema, text);
    return fault === null ? { kind: 'fine' } : { kind: 'fault', fault };
  } catch (error) {
    if (error instanceof RangeError) return { kind: 'too much' };
    return { kind: 'fault', fault: error instanceof Error ? error.message : String(error) };
  }
}

function answer(message: FromSchemaWorker): void {
  port.postMessage(message);
}
