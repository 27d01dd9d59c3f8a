import { Command } from 'commander';
import type { ExaminedServer } from '../../app/models.ts';
import { formatProblem } from '../../config/source-value.ts';
import { locationOf } from '../../config/context.ts';
import type { Config } from '../../config.ts';
import { serverName, blobStoreName } from '../../core/config.ts';
import type { Finding } from '../../core/examination.ts';
import { cleanLine } from '../terminal/clean-text.ts';
import type { Cli } from '../shared/cli.ts';
import { examples } from '../shared/commands.ts';
import { exitCodes } from '../shared/exit-codes.ts';
import { readConfig, type ServerFlags, withServerFlags } from '../shared/server-flags.ts';
import type { Terminal } from '../terminal/terminal.ts';

export function doctor(cli: Cli): Command {
  return withServerFlags(new Command('doctor'))
    .option('--no-generate', 'give them no work: connect and ask for their models alone')
    .option('--json', 'print JSON')
    .addHelpText('after', examples('', '--config offpeak.yaml --no-generate'))
    .action((flags: ServerFlags & { generate: boolean; json?: boolean }) =>
      runDoctor(cli, readConfig(cli, flags), { generates: flags.generate, json: flags.json === true }),
    );
}

interface DoctorOptions {
  /** Whether servers may be given work. */
  generates: boolean;
  json: boolean;
  /** Nothing is said of what is well. */
  faultsOnly?: boolean;
}

/** Asks the servers of a configuration and the store of its files, tells what was found, and sets how the command ends. */
export async function runDoctor(cli: Cli, config: Config, how: DoctorOptions): Promise<void> {
  const { terminal } = cli;
  // Client commands start faster without everything that a server is made of.
  const { examineServers } = await import('../../app/models.ts');
  const servers = await examineServers(config, how);
  const files = await examineFiles(config);
  if (how.json) terminal.json([...servers.map(toJson), ...files]);
  else for (const server of servers) showServer(server, how, terminal);
  if (!how.json && servers.length === 0)
    terminal.print(
      `No model is served by another server; ${terminal.self.command} models inspect tells of model files.`,
    );
  if (!how.json) showFiles(files, how, terminal);
  const faulty = servers.filter(({ examination }) => examination.findings.some(isFault));
  const isAway =
    faulty.some(({ examination }) => !examination.isReachable) || files.some(({ reachable }) => !reachable);
  if (isAway) cli.exitCode = exitCodes.unreachable;
  else if (faulty.length > 0 || files.some(({ findings }) => findings.length > 0))
    cli.exitCode = exitCodes.usage;
}

/** As of a server; nothing where files are on the disk. */
async function examineFiles(config: Config) {
  const { bucket } = config.files;
  if (!bucket) return [];
  const { checkBucket: bucketFault } = await import('../../app/bucket.ts');
  const fault = await bucketFault(bucket);
  const findings = fault ? [{ about: 'store', verdict: 'fault' as const, message: fault.message }] : [];
  return [{ files: blobStoreName(config), reachable: fault?.isUsable ?? true, findings }];
}

function showFiles(
  files: Awaited<ReturnType<typeof examineFiles>>,
  { faultsOnly = false }: DoctorOptions,
  terminal: Terminal,
): void {
  for (const { files: store, findings } of files) {
    const isWell = findings.length === 0;
    if (faultsOnly && isWell) continue;
    terminal.print(terminal.paint('bold', `files in ${store}${isWell ? ': well' : ''}`));
    for (const { message, ...finding } of findings) showFinding(finding, message, terminal);
  }
}

function showServer(server: ExaminedServer, { faultsOnly = false }: DoctorOptions, terminal: Terminal): void {
  const { model, replica, examination } = server;
  const shown = faultsOnly ? examination.findings.filter(isFault) : examination.findings;
  const verdict = shown.length === 0 ? ': well' : '';
  const title = `${model} at ${serverName(replica)} (${examination.flavor})${verdict}`;
  terminal.print(terminal.paint('bold', cleanLine(title)));
  for (const finding of shown)
    showFinding(finding, isFault(finding) ? problemText(server, finding) : finding.summary, terminal);
}

function showFinding(
  { about, verdict }: Pick<Finding, 'verdict'> & { about: string },
  summary: string,
  terminal: Terminal,
): void {
  const mark = terminal.paint(colours[verdict], verdict.padEnd(5));
  terminal.print(`  ${mark}  ${about.padEnd(11)}  ${cleanLine(summary)}`);
}

const colours = { ok: 'green', ours: 'cyan', fault: 'red' } as const;

function isFault({ verdict }: Finding): boolean {
  return verdict === 'fault';
}

/** `offpeak.yaml:8: models[0].engine.model: it has no model 'x'; it has y. Did you mean 'y'?` */
function problemText({ engine, replica }: ExaminedServer, finding: Finding): string {
  const { advice, key } = finding;
  const hint = advice ?? null;
  // A sentence follows, and the words of a server may end one.
  const summary = hint === null ? finding.summary : finding.summary.replace(/\.+$/, '');
  const at = key && (locationOf(replica, key) ?? locationOf(engine, key) ?? locationOf(engine, ''));
  if (!at) return hint === null ? summary : `${summary}. ${hint}`;
  return formatProblem({ file: at.file, line: at.line, message: `${at.path}: ${summary}`, hint });
}

function toJson(server: ExaminedServer) {
  const { model, replica, examination } = server;
  return {
    model,
    server: serverName(replica),
    flavor: examination.flavor,
    reachable: examination.isReachable,
    findings: examination.findings.map((finding) => ({
      about: finding.about,
      verdict: finding.verdict,
      message: isFault(finding) ? problemText(server, finding) : finding.summary,
    })),
  };
}
