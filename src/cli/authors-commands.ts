import { exitCodes } from './exit-codes.ts';
import type { Commands } from './program.ts';

/** The commands that write TypeScript for authors of providers and controllers. */
export const authorsCommands: Pick<Commands, 'newProvider' | 'newController' | 'generateTypes'> = {
  async newProvider(options) {
    const { newProviderProject } = await import('../app/new-provider.ts');
    for (const file of await newProviderProject(options)) process.stdout.write(`${file}\n`);
    return exitCodes.ok;
  },
  async newController(options) {
    const { newControllerProject } = await import('../app/new-controller.ts');
    for (const file of await newControllerProject(options)) process.stdout.write(`${file}\n`);
    return exitCodes.ok;
  },
  async generateTypes(options) {
    const { generateTypes } = await import('../app/generate-types.ts');
    const text = await generateTypes(options);
    process.stdout.write(options.out === undefined ? text : `${options.out}\n`);
    return exitCodes.ok;
  },
};
