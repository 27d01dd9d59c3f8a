import type { Command } from 'commander';

/** The flags that say which folder of models is meant: that of the server with the same ones. */
export interface FolderFlags {
  data?: string;
  config?: string;
}

export interface PullFlags extends FolderFlags {
  to?: string;
  sha256?: string;
  json?: boolean;
}

export interface InspectFlags extends FolderFlags {
  sequences?: number;
  context?: number | 'auto';
  json?: boolean;
}

export function withFolderFlags(command: Command): Command {
  return command
    .option('--data <folder>', 'where data lives (OFFPEAK_DATA; default ./offpeak-data)')
    .option('--config <file>', 'the configuration (OFFPEAK_CONFIG; default ./offpeak.yaml if it is there)');
}
