// Asks the registry for known vulnerabilities of the packages that users install: `npm run audit`.
//
// Fails for those of high and critical severity, and lists the others. A registry that does not answer is a warning: many mirrors
// have no audit service, and an outage of theirs says nothing about the packages.

import { spawnSync } from 'node:child_process';
import { join } from 'node:path';

const { stdout } = spawnSync('npm', ['audit', '--omit=dev', '--json'], {
  cwd: join(import.meta.dirname, '..'),
  encoding: 'utf8',
  shell: process.platform === 'win32',
  timeout: 120_000,
});
const report = parse(stdout);
const found = report?.metadata?.vulnerabilities;
if (found === undefined) {
  const reason = report?.message ?? report?.error?.summary ?? '';
  console.warn(
    `WARNING: the registry did not answer the audit${reason && `: ${reason}`}. Vulnerabilities are not known.`,
  );
} else {
  for (const { name, severity, via } of Object.values(report.vulnerabilities)) {
    const titles = via.map((cause) => (typeof cause === 'string' ? `through ${cause}` : cause.title));
    console.log(`${severity}: ${name}: ${titles.join('; ')}`);
  }
  console.log(`${found.total} vulnerable packages of ${report.metadata.dependencies.total}`);
  if (found.high + found.critical > 0) process.exitCode = 1;
}

function parse(text) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
