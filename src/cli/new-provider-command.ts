import { type Command, Option } from 'commander';
import type { NewProviderOptions } from '../app/new-provider.ts';
import { examples } from './arguments.ts';

/** Adds `podtender new-provider`. */
export function addNewProvider(
  program: Command,
  { cwd, version }: { readonly cwd: string; readonly version: string },
  act: (options: NewProviderOptions) => Promise<void>,
): void {
  program
    .command('new-provider')
    .description('Write the TypeScript project of a new provider into a folder of its name.')
    .argument('<name>', 'name of the provider: lower-case letters, digits and dashes')
    .addOption(
      new Option(
        '--contract <contract>',
        'pod: PodProvider; container: ContainerRuntime of podtender/provider; vkubelet: podtender/vkubelet',
      )
        .choices(['pod', 'container', 'vkubelet'])
        .default('vkubelet'),
    )
    .helpOption('-h, --help', 'print this help')
    .addHelpText('after', examples(['podtender new-provider my-rooms --contract pod']))
    .action(async (name: string, { contract }: Pick<NewProviderOptions, 'contract'>) => {
      await act({ name, contract, cwd, version });
    });
}
