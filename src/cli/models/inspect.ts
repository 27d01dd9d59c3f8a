import { resolve } from 'node:path';
import { type Command, Option } from 'commander';
import { formatBytes } from '../../base/bytes.ts';
import { defaultVramReserve, type GpuChoice, gpuChoices } from '../../core/card.ts';
import type { ModelReport } from '../../core/model-file.ts';
import { type ModelSource, readModelSource, formatSource } from '../../core/model-source.ts';
import type { Cli } from '../shared/cli.ts';
import { examples, wholeNumber } from '../shared/commands.ts';
import { CliError } from '../shared/exit-codes.ts';
import { cleanText } from '../terminal/clean-text.ts';
import type { Terminal } from '../terminal/terminal.ts';
import { folderCommand, type FolderFlags, showCount, withModelFiles } from './model-files.ts';

interface Flags extends FolderFlags {
  gpu: GpuChoice;
  sequences: number;
  context: number | 'auto';
}

export function modelsInspect(cli: Cli): Command {
  const tokens = wholeNumber('--context', 1, 16_777_216);
  const about = 'show a model file and the memory it needs, from its header';
  return folderCommand('inspect', about)
    .argument('<model>', 'a path, hf:owner/repo/file.gguf, or an https:// URL')
    .option('--sequences <n>', 'concurrent requests', wholeNumber('--sequences', 1, 256), 8)
    .option(
      '--context <n>',
      'tokens for each request, or auto',
      (text) => (text === 'auto' ? text : tokens(text)),
      'auto',
    )
    .addOption(
      new Option('--gpu <kind>', 'graphics card, as in the configuration')
        .choices(gpuChoices)
        .default('auto'),
    )
    .addHelpText('after', examples('models/offpeak-tiny.gguf --sequences 16 --context 4096'))
    .action(async (model: string, flags: Flags) => {
      const source = sourceOf(model, cli.cwd);
      const { sequences, context } = flags;
      const report = await withModelFiles(cli, flags, async (files, { signal, config }) => {
        const { openEngineBuilds } = await import('../../app/engine-builds.ts');
        const choice = await openEngineBuilds(config, cli.env).choose(flags.gpu);
        const card = { choice, reserve: defaultVramReserve };
        return files.inspect({ source, sequences, context, signal, card });
      });
      if (flags.json === true) cli.terminal.json({ source: formatSource(source), ...snakeCase(report) });
      else show(report, cli.terminal);
    });
}

function sourceOf(text: string, cwd: string): ModelSource {
  const source = readModelSource(text);
  if (source.kind === 'wrong') throw new CliError(`'${text}' ${source.problem}.`, source.hint);
  return source.kind === 'path' ? { kind: 'path', path: resolve(cwd, source.path) } : source;
}

function show(report: ModelReport, terminal: Terminal): void {
  const { memory, tokenizer, template } = report;
  const files = report.files === 1 ? '' : ` in ${report.files} files`;
  const heads = report.heads === report.keyValueHeads ? '' : `, ${report.keyValueHeads} for keys and values`;
  const total = formatBytes(memory.weights + memory.cache + memory.work);
  terminal.record([
    ['name', report.name],
    ['architecture', report.architecture],
    ['parameters', showCount(report.parameters)],
    ['quantization', report.quantization],
    ['size', `${formatBytes(report.fileBytes)}${files}`],
    ['context', report.contextLength === null ? null : `${report.contextLength} tokens`],
    ['layers', known(report.layers)],
    ['width', known(report.width)],
    ['heads', report.heads === null ? null : `${report.heads}${heads}`],
    ['tokenizer', [tokenizer.kind, tokenizer.pre].filter(Boolean).join(', ')],
    ['vocabulary', known(tokenizer.vocabulary)],
    ['template', template === null ? 'none' : template.family],
    [
      'memory',
      `${total}: ${formatBytes(memory.weights)} weights, ${formatBytes(memory.cache)} cache for ` +
        `${memory.sequences} sequences of ${memory.context} tokens, ${formatBytes(memory.work)} working memory`,
    ],
    ['card', cardText(memory.card)],
  ]);
  // Shows an unrecognized template, so that the user can identify it.
  if (template !== null && template.family === null)
    terminal.print(`\nThe chat template begins with:\n${cleanText(template.begins)}`);
  if (memory.note !== null) terminal.note(`\n${memory.note}`);
  if (memory.misfit !== null) terminal.note(`\nDoes not fit on this machine now: ${memory.misfit}`);
}

function cardText(card: ModelReport['memory']['card']): string | null {
  if (!card) return null;
  const { kind, names, layers, of, bytes } = card;
  return `${layers} of ${of} layers, ${formatBytes(bytes)}, on ${names.join(', ')} (${kind})`;
}

function known(count: number | null): string | null {
  return count === null ? null : String(count);
}

function snakeCase(report: ModelReport): Record<string, unknown> {
  const { contextLength, keyValueHeads, fileBytes, ...rest } = report;
  return { ...rest, context_length: contextLength, key_value_heads: keyValueHeads, file_bytes: fileBytes };
}
