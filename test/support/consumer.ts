import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

export const repository = join(import.meta.dirname, '../..');

/** What `npm pack` takes of the repository, and what its build reads. */
const sources = [
  'bin',
  'conformance',
  'docs',
  'examples',
  'scripts',
  'src',
  'package.json',
  'tsconfig.json',
  'tsconfig.build.json',
  'README.md',
  'ARCHITECTURE.md',
  'CHANGELOG.md',
  'CONTRIBUTING.md',
  'LICENSE',
];

interface Manifest {
  readonly name: string;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly exports: Readonly<Record<string, unknown>>;
}

const manifestOf = (folder: string): Manifest =>
  JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as Manifest;

/** The package as it is published, built and packed in a folder of its own. */
export class PackedPackage {
  readonly #folder = mkdtempSync(join(tmpdir(), 'podtender-pack-'));
  /** The tarball. */
  readonly tarball: string;
  /** What is in it, as paths below the package's root. */
  readonly files: readonly string[];

  constructor() {
    const build = join(this.#folder, 'build');
    mkdirSync(build);
    for (const source of sources) cpSync(join(repository, source), join(build, source), { recursive: true });
    symlinkSync(join(repository, 'node_modules'), join(build, 'node_modules'));
    const run = {
      cwd: build,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'inherit'] as ('ignore' | 'pipe' | 'inherit')[],
    } as const;
    execFileSync(process.execPath, ['scripts/build.mjs'], { ...run, stdio: 'inherit' });
    const packed = execFileSync(
      'npm',
      ['pack', '--json', '--ignore-scripts', '--pack-destination', '..'],
      run,
    );
    const answer = JSON.parse(packed) as unknown;
    const [pack] = Object.values(answer as Record<string, { filename: string; files: { path: string }[] }>);
    if (!pack) throw new Error('npm pack told of no package');
    this.tarball = join(this.#folder, pack.filename);
    this.files = pack.files.map(({ path }) => path);
  }

  remove(): void {
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

/**
 * A project outside the repository that has installed the package: the packed files, and beside them what the package depends on, nothing
 * else. What it depends on is linked from the repository, so that nothing is asked of a registry.
 */
export class Consumer {
  readonly folder = mkdtempSync(join(tmpdir(), 'podtender-consumer-'));
  readonly package: string;

  constructor(packed: PackedPackage, own: readonly string[] = []) {
    this.package = join(this.folder, 'node_modules/podtender');
    mkdirSync(this.package, { recursive: true });
    execFileSync('tar', ['-xzf', packed.tarball, '-C', this.package, '--strip-components=1']);
    this.write('package.json', JSON.stringify({ name: 'consumer', private: true, type: 'module' }));
    const linked = new Set<string>();
    for (const name of [...Object.keys(manifestOf(this.package).dependencies ?? {}), ...own])
      this.#link(name, repository, linked);
  }

  /** Links a package and what that depends on; of two versions of one package the outermost is what others see. */
  #link(name: string, from: string, linked: Set<string>): void {
    if (linked.has(name)) return;
    linked.add(name);
    const home = homeOf(name, from);
    if (home === undefined) return;
    const link = join(this.folder, 'node_modules', name);
    mkdirSync(dirname(link), { recursive: true });
    symlinkSync(home, link);
    for (const next of Object.keys(manifestOf(home).dependencies ?? {})) this.#link(next, home, linked);
  }

  write(path: string, text: string): string {
    const file = join(this.folder, path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
    return file;
  }

  /** Type-checks the project with TypeScript's own libraries and the package's declarations; what is wrong is the returned text. */
  types(options: Readonly<Record<string, unknown>>, files: readonly string[]): string {
    const compilerOptions = {
      target: 'es2024',
      lib: ['es2024'],
      strict: true,
      noEmit: true,
      skipLibCheck: false,
      types: ['node'],
      ...options,
    };
    this.write('tsconfig.json', JSON.stringify({ compilerOptions, files }));
    const compiler = createRequire(import.meta.url).resolve('typescript/bin/tsc');
    return this.run(process.execPath, [compiler, '-p', 'tsconfig.json', '--pretty', 'false']).output;
  }

  /** Runs a program in the project. */
  run(
    command: string,
    args: readonly string[],
    env: Readonly<Record<string, string>> = {},
  ): { code: number; output: string } {
    try {
      const output = execFileSync(command, args, {
        cwd: this.folder,
        encoding: 'utf8',
        stdio: ['ignore', 'pipe', 'pipe'],
        env: { ...process.env, ...env },
      });
      return { code: 0, output };
    } catch (reason) {
      const { status, stdout, stderr } = reason as { status: number; stdout: string; stderr: string };
      return { code: status, output: `${stdout}${stderr}` };
    }
  }

  /** The specifiers by which the package's exports are imported. */
  specifiers(files: readonly string[]): readonly string[] {
    return Object.keys(manifestOf(this.package).exports)
      .filter((path) => path !== './package.json')
      .flatMap((path) => (path.includes('*') ? matching(path, files) : [path]))
      .map((path) => `podtender${path.slice(1)}`);
  }

  remove(): void {
    rmSync(this.folder, { recursive: true, force: true });
  }
}

/** `./providers/*` as the packed files have it. */
const matching = (pattern: string, files: readonly string[]): readonly string[] => {
  const [before = '', after = ''] = pattern.slice(2).split('*');
  const path = new RegExp(`^dist/(${before}[^/]+${after})/index\\.js$`);
  return files
    .map((file) => path.exec(file)?.[1])
    .filter((found) => found !== undefined)
    .map((found) => `./${found}`);
};

/** Where Node.js would find a package, also one that exports nothing but types. */
function homeOf(name: string, from: string): string | undefined {
  for (let folder = from; ; folder = dirname(folder)) {
    const home = join(folder, 'node_modules', name);
    try {
      manifestOf(home);
      return home;
    } catch {
      if (folder === dirname(folder)) return undefined;
    }
  }
}
