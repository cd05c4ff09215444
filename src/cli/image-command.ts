import { type Command, InvalidArgumentError, Option } from 'commander';
import { resolve } from 'node:path';
import { parseDuration } from '../kube/duration.ts';

/** What the command line of `podtender image` says. */
export type ImageArguments = ImageShared &
  (
    | {
        readonly act: 'pull';
        readonly names: readonly string[];
        readonly registryConfig?: string;
        readonly authFile?: string;
        /** The user, whose password is read from standard input. */
        readonly username?: string;
      }
    | { readonly act: 'ls' }
    | { readonly act: 'rm'; readonly names: readonly string[] }
    | { readonly act: 'import'; readonly files: readonly string[]; readonly name?: string }
    | { readonly act: 'gc'; readonly unused: boolean; readonly olderThanMs: number }
  );

interface ImageShared {
  readonly dataDir: string;
  readonly output: 'text' | 'json';
}

interface Surroundings {
  readonly cwd: string;
  readonly dataDir: string;
}

type Act = (options: ImageArguments) => Promise<void>;

/** Adds `podtender image` with its commands. */
export function addImage(program: Command, around: Surroundings, act: Act): void {
  const image = program
    .command('image')
    .description('Manage the images of --provider oci, also while an agent runs.')
    .helpOption('-h, --help', 'print this help')
    .helpCommand(false);
  addPull(image, around, act);
  addList(image, around, act);
  addRemove(image, around, act);
  addImport(image, around, act);
  addCollect(image, around, act);
}

type Raw = Readonly<Record<string, string | number | boolean | undefined>>;

/** Adds one command with the options that all have. */
function add(image: Command, { dataDir }: Surroundings, name: string, example: string): Command {
  return image
    .command(name)
    .option('--data-dir <dir>', 'directory of state of the agent', dataDir)
    .addOption(
      new Option('--output <form>', 'text, or one JSON object a line')
        .choices(['text', 'json'])
        .default('text'),
    )
    .helpOption('-h, --help', 'print this help')
    .addHelpText('after', `\nExamples:\n${example}\n`);
}

const shared = (raw: Raw, { cwd }: Surroundings): ImageShared => ({
  dataDir: resolve(cwd, String(raw['dataDir'])),
  output: raw['output'] === 'json' ? 'json' : 'text',
});

function addPull(image: Command, around: Surroundings, act: Act): void {
  const example = `  podtender image pull busybox:1.37
  podtender image pull --username me --password-stdin registry.example/app:2 <password.txt`;
  add(image, around, 'pull', example)
    .description('Pull images from registries; an interrupted pull is continued.')
    .argument('<name...>', 'image references, with a tag or a digest')
    .option('--oci-registry-config <dir>', "mirrors and certificates, in the format of containerd's certs.d")
    .option(
      '--authfile <file>',
      "credentials, in the format of Docker's config.json; default: the node's own",
    )
    .option('--username <name>', 'name at the registry, with --password-stdin')
    .option('--password-stdin', 'read the password of --username from standard input')
    .action(async (names: string[], raw: Raw, self: Command) => {
      const { ociRegistryConfig: config, authfile: file, username, passwordStdin } = raw;
      if ((username === undefined) !== (passwordStdin === undefined))
        self.error('error: --username and --password-stdin go together');
      const path = (value: Raw[string], key: string): object =>
        typeof value === 'string' ? { [key]: resolve(around.cwd, value) } : {};
      await act({
        act: 'pull',
        names,
        ...shared(raw, around),
        ...path(config, 'registryConfig'),
        ...path(file, 'authFile'),
        ...(typeof username === 'string' && { username }),
      });
    });
}

function addList(image: Command, around: Surroundings, act: Act): void {
  add(image, around, 'ls', '  podtender image ls\n  podtender image ls --output json')
    .description('List the images, and the number of containers that use each.')
    .action(async (raw: Raw) => {
      await act({ act: 'ls', ...shared(raw, around) });
    });
}

function addRemove(image: Command, around: Surroundings, act: Act): void {
  add(image, around, 'rm', '  podtender image rm busybox:1.37\n  podtender image rm 3b2a8a6c2f1e')
    .description('Remove names of images, or images by id. Images that containers use stay.')
    .argument('<name...>', 'image references or ids')
    .action(async (names: string[], raw: Raw) => {
      await act({ act: 'rm', names, ...shared(raw, around) });
    });
}

function addImport(image: Command, around: Surroundings, act: Act): void {
  add(
    image,
    around,
    'import',
    '  podtender image import app.tar\n  podtender image import --name app:2 ./layout',
  )
    .description(
      'Import images: files of docker save or of an OCI layout, compressed or not, or directories of one.',
    )
    .argument('<file...>', 'files and directories')
    .option('--name <reference>', 'name of the image, in place of the names in the file')
    .action(async (files: string[], raw: Raw, self: Command) => {
      const { name } = raw;
      if (name !== undefined && files.length > 1) self.error('error: --name is for one file');
      await act({
        act: 'import',
        files: files.map((file) => resolve(around.cwd, file)),
        ...(typeof name === 'string' && { name }),
        ...shared(raw, around),
      });
    });
}

function addCollect(image: Command, around: Surroundings, act: Act): void {
  add(image, around, 'gc', '  podtender image gc\n  podtender image gc --unused --older-than 24h')
    .description('Remove what no image uses, and what interrupted pulls of more than an hour ago have left.')
    .option('--unused', 'remove images that no container uses, too')
    .option('--older-than <duration>', 'with --unused: only images that are here for so long', duration, 0)
    .action(async (raw: Raw) => {
      const { unused = false, olderThan = 0 } = raw;
      await act({
        act: 'gc',
        unused: unused === true,
        olderThanMs: Number(olderThan),
        ...shared(raw, around),
      });
    });
}

function duration(text: string): number {
  const nanos = parseDuration(text);
  if (typeof nanos === 'bigint' && nanos >= 0n) return Number(nanos / 1_000_000n);
  throw new InvalidArgumentError('it must be a duration such as 30m or 24h.');
}
