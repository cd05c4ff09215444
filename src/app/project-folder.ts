import { existsSync } from 'node:fs';
import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { AgentError } from '../base/errors.ts';

/** Of a project: the folder `name` is made in `cwd`. */
export interface ProjectPlace {
  readonly name: string;
  readonly cwd: string;
}

/** @throws {AgentError} `invalid_argument` for a name that is none. @param what e.g. `provider` */
export function checkProjectName(name: string, what: string): void {
  if (/^[a-z][a-z0-9]*(-[a-z0-9]+)*$/.test(name)) return;
  throw new AgentError(
    'invalid_argument',
    `a ${what} cannot be called ${JSON.stringify(name)}: use lower-case letters, digits and single dashes, such as my-rooms`,
  );
}

/** Writes the files of a project, and returns their paths. @throws {AgentError} `already_exists` when the folder holds something */
export async function writeProject(
  { name, cwd }: ProjectPlace,
  files: Readonly<Record<string, string>>,
): Promise<readonly string[]> {
  const folder = resolve(cwd, name);
  if (existsSync(folder) && (await readdir(folder)).length > 0)
    throw new AgentError(
      'already_exists',
      `${folder} holds something already: choose another name or folder`,
    );
  for (const [path, text] of Object.entries(files)) {
    const file = join(folder, path);
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, text);
  }
  return Object.keys(files).map((path) => join(name, path));
}

/** What the package.json of a project says besides what all of them say. */
export interface ProjectPackage {
  readonly name: string;
  /** Of podtender, for the dependency. */
  readonly version: string;
  /** Scripts besides `start`, `check` and `test`. */
  readonly scripts?: Readonly<Record<string, string>>;
  /** Flags of Node.js for `start`. */
  readonly nodeFlags?: readonly string[];
}

/** Returns the package.json of a project. */
export const packageJson = ({ name, version, scripts = {}, nodeFlags = [] }: ProjectPackage): string =>
  `${JSON.stringify(
    {
      name,
      version: '0.0.1',
      private: true,
      type: 'module',
      engines: { node: '>=22.19' },
      scripts: {
        start: ['node', ...nodeFlags, 'src/main.ts'].join(' '),
        ...scripts,
        check: 'tsc --noEmit',
        test: 'node --test "test/*.test.ts"',
      },
      dependencies: { podtender: `^${version}` },
      devDependencies: { '@types/node': '^22.20.5', typescript: '^6.0.3' },
    },
    undefined,
    2,
  )}\n`;

/** The tsconfig.json of a project: Node.js runs its sources as they are. */
export const tsconfig = `{
  "compilerOptions": {
    "target": "es2024",
    "lib": ["es2024", "esnext.disposable"],
    "module": "nodenext",
    "types": ["node"],
    "strict": true,
    "exactOptionalPropertyTypes": true,
    "noEmit": true,
    "allowImportingTsExtensions": true,
    "erasableSyntaxOnly": true,
    "skipLibCheck": true
  },
  "include": ["src", "test"]
}
`;

/** Returns the Dockerfile of a project. @param nodeFlags of Node.js */
export const dockerfile = (nodeFlags: readonly string[] = []): string => `FROM node:24-slim
WORKDIR /app
COPY package*.json ./
RUN npm ci --omit=dev
COPY src ./src
USER node
CMD [${['node', ...nodeFlags, 'src/main.ts'].map((word) => JSON.stringify(word)).join(', ')}]
`;
