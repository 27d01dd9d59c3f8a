// npm run bench [-- names...]: runs workloads, prints and writes the results. Exits with 1 if a goal is missed.
// --profile runs the measured server under V8's profiler; its worse figures are not written.
// --unbound binds no process to a core.
import { attack } from './attack.ts';
import { batchFill } from './batch-fill.ts';
import { batchRun } from './batch-run.ts';
import { beside } from './beside.ts';
import { consoleScreens } from './console.ts';
import { consoleMemory } from './console-memory.ts';
import { engine } from './engine.ts';
import { fleet } from './fleet.ts';
import { flex } from './flex.ts';
import { growth } from './growth.ts';
import { cluster } from './cluster.ts';
import { handover } from './handover.ts';
import { healthz } from './healthz.ts';
import { inline } from './inline.ts';
import { latency } from './latency.ts';
import { limits } from './limits.ts';
import { prefix } from './prefix.ts';
import { processes } from './processes.ts';
import { ramp } from './ramp.ts';
import { rampHttp } from './ramp-http.ts';
import { restart } from './restart.ts';
import { scale } from './scale.ts';
import { missed, publish } from './support/report.ts';
import { bindSelf } from './support/processes.ts';
import { describeProfiles, profiling } from './support/profile.ts';
import { slowdown } from './slowdown.ts';
import { stream } from './stream.ts';
import { surfaces } from './surfaces.ts';
import { syncChat } from './sync-chat.ts';
import { translate } from './translate.ts';
import { trouble } from './trouble.ts';
import { upload } from './upload.ts';
import { uploadS3 } from './upload-s3.ts';
import { vocabulary } from './vocabulary.ts';

const workloads = [
  batchFill,
  batchRun,
  beside,
  flex,
  fleet,
  ramp,
  slowdown,
  rampHttp,
  trouble,
  processes,
  upload,
  uploadS3,
  inline,
  syncChat,
  limits,
  translate,
  surfaces,
  stream,
  latency,
  growth,
  handover,
  cluster,
  scale,
  healthz,
  restart,
  prefix,
  engine,
  vocabulary,
  attack,
  consoleScreens,
  consoleMemory,
];

const flags = new Set(['--profile', '--unbound']);
const names = process.argv.slice(2).filter((value) => !flags.has(value));
const unknown = names.filter((name) => !workloads.some((workload) => workload.name === name));
if (unknown.length > 0) {
  console.error(
    `No such benchmark: ${unknown.join(', ')}. There are: ${workloads.map(({ name }) => name).join(', ')}.`,
  );
  process.exit(2);
}

bindSelf();
let misses = 0;
for (const workload of workloads) {
  if (names.length > 0 && !names.includes(workload.name)) continue;
  const report = await workload.run();
  console.log(profiling ? describeProfiles() : publish(workload, report));
  misses += missed(report).length;
}
process.exit(misses === 0 ? 0 : 1);
