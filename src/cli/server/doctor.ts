import { Command } from 'commander';
import type { ExaminedServer } from '../../app/models.ts';
import { formatProblem } from '../../config/source-value.ts';
import { locationOf } from '../../config/context.ts';
import type { Config } from '../../config.ts';
import { blobStoreName } from '../../core/config.ts';
import type { Finding } from '../../core/examination.ts';
import { cleanLine } from '../terminal/clean-text.ts';
import type { Cli } from '../shared/cli.ts';
import { examples } from '../shared/commands.ts';
import { exitCodes } from '../shared/exit-codes.ts';
import { examineCards } from './examine-cards.ts';
import { readConfig, type ServerFlags, withServerFlags } from '../shared/server-flags.ts';
import type { Terminal } from '../terminal/terminal.ts';

export function doctor(cli: Cli): Command {
  return withServerFlags(new Command('doctor'))
    .option('--no-generate', 'send no prompts: only connect and list models')
    .option('--json', 'print JSON')
    .addHelpText('after', examples('', '--config offpeak.yaml --no-generate'))
    .action((flags: ServerFlags & { generate: boolean; json?: boolean }) =>
      runDoctor(cli, readConfig(cli, flags), { generates: flags.generate, json: flags.json === true }),
    );
}

interface DoctorOptions {
  /** True if servers may be sent prompts. */
  generates: boolean;
  json: boolean;
  /** Prints only faults. */
  faultsOnly?: boolean;
}

/** Examines the servers and the file store of a configuration, prints the findings and sets the exit code. */
export async function runDoctor(cli: Cli, config: Config, options: DoctorOptions): Promise<void> {
  const { terminal } = cli;
  // Loaded here to keep client commands fast.
  const { examineServers } = await import('../../app/models.ts');
  const servers = await examineServers(config, options);
  const cards = await examineCards(config, cli);
  const files = await examineFiles(config);
  if (options.json) terminal.json([...servers.map(toJson), ...cards, ...files]);
  else for (const server of servers) showServer(server, options, terminal);
  if (!options.json && servers.length === 0)
    terminal.print(
      `No model uses an upstream server or jobs. To examine model files: ${terminal.self.command} models inspect.`,
    );
  if (!options.json) {
    for (const { model, server, findings } of cards)
      showFindings(`${model} on the ${server}`, findings, options, terminal);
    for (const { files: store, findings } of files)
      showFindings(`files in ${store}`, findings, options, terminal);
  }
  const faulty = servers.filter(({ examination }) => examination.findings.some(isFault));
  const isAway =
    faulty.some(({ examination }) => !examination.isReachable) || files.some(({ reachable }) => !reachable);
  if (isAway) cli.exitCode = exitCodes.unreachable;
  else if (
    faulty.length > 0 ||
    [...cards, ...files].some(({ findings }) => findings.some(({ verdict }) => verdict === 'fault'))
  )
    cli.exitCode = exitCodes.usage;
}

/** Findings for a bucket; empty for files on the disk. */
async function examineFiles(config: Config) {
  const { files } = config;
  const bucket = files.bucket ?? files.fallback?.bucket;
  if (!bucket) return [];
  const { checkBucket } = await import('../../app/bucket.ts');
  const fault = await checkBucket(bucket);
  const findings = fault ? [{ about: 'store', verdict: 'fault' as const, message: fault.message }] : [];
  const name = blobStoreName({ ...config, files: { bucket } });
  return [{ files: name, reachable: fault?.isUsable ?? true, findings }];
}

function showFindings(
  title: string,
  findings: readonly (Pick<Finding, 'verdict'> & { about: string; message: string })[],
  { faultsOnly = false }: DoctorOptions,
  terminal: Terminal,
): void {
  const shown = faultsOnly ? findings.filter(({ verdict }) => verdict === 'fault') : findings;
  if (faultsOnly && shown.length === 0) return;
  terminal.print(terminal.paint('bold', cleanLine(`${title}${shown.length === 0 ? ': ok' : ''}`)));
  for (const { message, ...finding } of shown) showFinding(finding, message, terminal);
}

function showServer(server: ExaminedServer, { faultsOnly = false }: DoctorOptions, terminal: Terminal): void {
  const { model, server: name, examination } = server;
  const shown = faultsOnly ? examination.findings.filter(isFault) : examination.findings;
  const verdict = shown.length === 0 ? ': ok' : '';
  const title = `${model} at ${name} (${examination.flavor})${verdict}`;
  terminal.print(terminal.paint('bold', cleanLine(title)));
  for (const finding of shown)
    showFinding(finding, isFault(finding) ? problemText(server, finding) : finding.summary, terminal);
}

function showFinding(
  { about, verdict }: Pick<Finding, 'verdict'> & { about: string },
  summary: string,
  terminal: Terminal,
): void {
  const mark = terminal.paint(colors[verdict], verdict.padEnd(5));
  terminal.print(`  ${mark}  ${about.padEnd(11)}  ${cleanLine(summary)}`);
}

const colors = { ok: 'green', ours: 'cyan', fault: 'red' } as const;

function isFault({ verdict }: Finding): boolean {
  return verdict === 'fault';
}

/** Fault as `offpeak.yaml:8: models[0].engine.model: it has no model 'x'; it has y. Did you mean 'y'?` */
function problemText({ engine, replica }: ExaminedServer, finding: Finding): string {
  const { advice: hint = null, key } = finding;
  // The text of a server may end with a period, and the hint follows as a sentence.
  const summary = hint === null ? finding.summary : finding.summary.replace(/\.+$/, '');
  const at =
    key && ((replica && locationOf(replica, key)) ?? locationOf(engine, key) ?? locationOf(engine, ''));
  if (!at) return hint === null ? summary : `${summary}. ${hint}`;
  return formatProblem({ file: at.file, line: at.line, message: `${at.path}: ${summary}`, hint });
}

function toJson(server: ExaminedServer) {
  const { model, server: name, examination } = server;
  return {
    model,
    server: name,
    flavor: examination.flavor,
    reachable: examination.isReachable,
    findings: examination.findings.map((finding) => ({
      about: finding.about,
      verdict: finding.verdict,
      message: isFault(finding) ? problemText(server, finding) : finding.summary,
    })),
  };
}
