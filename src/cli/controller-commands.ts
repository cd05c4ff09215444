import type { Command } from 'commander';
import { resolve } from 'node:path';
import type { GenerateTypesOptions } from '../app/generate-types.ts';
import type { NewControllerOptions } from '../app/new-controller.ts';

interface Acts {
  newController(options: NewControllerOptions): Promise<void>;
  generateTypes(options: GenerateTypesOptions): Promise<void>;
}

interface Raw {
  readonly group: string;
  readonly kind: string;
  readonly apiVersion: string;
  readonly webhook?: boolean;
  readonly conversion?: string;
}

/** Adds the commands for authors of controllers: `new-controller` and `generate-types`. */
export function addControllerCommands(
  program: Command,
  { cwd, version }: { readonly cwd: string; readonly version: string },
  acts: Acts,
): void {
  program
    .command('new-controller')
    .description('Write the TypeScript project of a new controller into a folder of its name.')
    .argument('<name>', 'name of the project: lower-case letters, digits and dashes')
    .requiredOption('--group <group>', 'API group of the kind, such as cache.example.com')
    .requiredOption('--kind <kind>', 'kind that is reconciled, such as Memcached')
    .option('--api-version <version>', 'version of the kind', 'v1alpha1')
    .option('--webhook', 'add webhooks for defaults and validation')
    .option('--conversion <version>', 'add this older version of the kind, and a webhook that converts it')
    .helpOption('-h, --help', 'print this help')
    .addHelpText(
      'after',
      '\nExamples:\n  podtender new-controller my-cache --group cache.example.com --kind Memcached\n',
    )
    .action(async (name: string, raw: Raw) => {
      await acts.newController({ name, ...raw, cwd, version });
    });
  program
    .command('generate-types')
    .description('Print the TypeScript interfaces and kinds of CustomResourceDefinitions.')
    .argument('<file...>', 'files and folders with CustomResourceDefinitions')
    .option('--out <file>', 'write them into this file')
    .helpOption('-h, --help', 'print this help')
    .addHelpText('after', '\nExamples:\n  podtender generate-types config/crd.yaml --out src/types.ts\n')
    .action(async (files: string[], { out }: { readonly out?: string }) => {
      await acts.generateTypes({
        files: files.map((file) => resolve(cwd, file)),
        ...(out !== undefined && { out: resolve(cwd, out) }),
      });
    });
}
