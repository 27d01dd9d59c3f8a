import { Command } from 'commander';
import type { Cli } from '../shared/cli.ts';
import { filesContent } from './content.ts';
import { filesDelete } from './delete.ts';
import { filesGet } from './get.ts';
import { filesList } from './list.ts';
import { filesUpload } from './upload.ts';
import { filesValidate } from './validate.ts';

export function files(cli: Cli): Command {
  const group = new Command('files').description('upload, list and read files');
  for (const make of [filesUpload, filesList, filesGet, filesContent, filesDelete, filesValidate])
    group.addCommand(make(cli));
  return group;
}
