import {
  appendFileSync,
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { spawnSync } from 'node:child_process';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { EmbeddedApiServer, StorageError } from '../../../src/apiserver/index.ts';

const { DatabaseSync } = createRequire(import.meta.url)('node:sqlite') as typeof import('node:sqlite');

let dir: string;
let database: string;

beforeEach(async () => {
  dir = mkdtempSync(join(tmpdir(), 'journal-'));
  database = join(dir, 'objects.db');
  const server = await EmbeddedApiServer.start({ dataDir: dir });
  await server.stop();
});
afterEach(() => {
  rmSync(dir, { recursive: true, force: true });
});

const start = async (): Promise<void> => {
  const server = await EmbeddedApiServer.start({ dataDir: dir });
  await server.stop();
};

const failure = (): Promise<StorageError> =>
  start().then(
    () => {
      throw new Error('it started');
    },
    (reason: unknown) => reason as StorageError,
  );

/** Writes into the file from `at` on, as a disk might. */
function overwrite(at: number, bytes: Buffer): void {
  const content = readFileSync(database);
  bytes.copy(content, at);
  writeFileSync(database, content);
}

function change(statement: string): void {
  const db = new DatabaseSync(database);
  db.exec(statement);
  db.close();
}

const noise = (length: number): Buffer =>
  Buffer.from(Array.from({ length }, (_unused, i) => (i * 151) % 256));

describe('damage is reported with the file', () => {
  const kinds: Readonly<Record<string, () => void>> = {
    'cut in the middle': () => {
      truncateSync(database, Math.floor(readFileSync(database).length / 2));
    },
    'cut within its first page': () => {
      truncateSync(database, 700);
    },
    empty: () => {
      truncateSync(database, 0);
    },
    'another file': () => {
      writeFileSync(database, 'kind: Pod\n'.repeat(1000));
    },
    'a garbled header': () => {
      overwrite(0, noise(100));
    },
    'garbage in its pages': () => {
      const { length } = readFileSync(database);
      for (let at = 4096; at < length; at += 4096) overwrite(at, noise(512));
    },
    zeros: () => {
      writeFileSync(database, Buffer.alloc(readFileSync(database).length));
    },
    'a folder in its place': () => {
      rmSync(database);
      mkdirSync(database);
    },
    'a device in its place': () => {
      rmSync(database);
      symlinkSync('/dev/null', database);
    },
    'a journal alone': () => {
      renameSync(database, `${database}-wal`);
    },
    'text that is not JSON': () => {
      change("UPDATE objects SET json = '{\"metadata\":' WHERE key = 'default' AND storage = 'namespaces'");
    },
    'JSON that is no object': () => {
      change("UPDATE objects SET json = '[1]' WHERE key = 'default' AND storage = 'namespaces'");
    },
    'a version that is none': () => {
      change("UPDATE meta SET value = 'soon' WHERE name = 'resourceVersion'");
    },
    'a version of a row that is none': () => {
      change("UPDATE objects SET version = 'x' WHERE key = 'default'");
    },
    'tables of another program': () => {
      change('DROP TABLE objects; CREATE TABLE objects (id INTEGER)');
    },
    'the version gone': () => {
      change("DELETE FROM meta WHERE name = 'dataVersion'");
    },
  };

  test.for(Object.keys(kinds))('%s', async (kind) => {
    kinds[kind]?.();
    const reason = await failure();
    expect(reason).toBeInstanceOf(StorageError);
    expect(reason.code).toBe('failed_precondition');
    expect(reason.file).toBe(database);
    expect(reason.message).toMatch(new RegExp(`^${database} is damaged: .`));
    expect(reason.message).not.toContain('\n');
  });

  test.for(['ca.pem', 'service-account.key'])('%s', async (name) => {
    writeFileSync(join(dir, name), '-----BEGIN NOTHING-----\n');
    const reason = await failure();
    expect(reason.message).toContain(`${join(dir, name)} is damaged: `);
    expect(readFileSync(join(dir, name), 'utf8')).toContain('NOTHING'); // it is not written over
  });

  test('ca.pem with a broken key', async () => {
    const text = readFileSync(join(dir, 'ca.pem'), 'utf8');
    writeFileSync(join(dir, 'ca.pem'), text.replace(/(PRIVATE KEY-----\n)[^-]{60}/, '$1AAAA'));
    expect((await failure()).message).toContain(`${join(dir, 'ca.pem')} is damaged: `);
  });
});

test('a database of another version is refused by name', async () => {
  change("UPDATE meta SET value = '7' WHERE name = 'dataVersion'");
  const reason = await failure();
  expect(reason.message).toContain(`${database} is of version 7`);
});

test('a database in use is refused by name', async () => {
  const server = await EmbeddedApiServer.start({ dataDir: dir });
  const reason = await failure();
  await server.stop();
  expect(reason.message).toBe(`${database} is in use by another process`);
});

test.for([
  [
    'garbage in the journal',
    () => {
      writeFileSync(`${database}-wal`, noise(5000));
    },
  ],
  [
    'an old rollback journal',
    () => {
      writeFileSync(`${database}-journal`, noise(5000));
    },
  ],
  [
    'bytes behind the end',
    () => {
      appendFileSync(database, noise(10));
    },
  ],
] as const)('%s is nothing to stop for', async ([, act]) => {
  act();
  await start();
});

test('versions go on behind those of the rows', async () => {
  change("UPDATE meta SET value = '1' WHERE name = 'resourceVersion'");
  const server = await EmbeddedApiServer.start({ dataDir: dir });
  const { version } = server.store;
  await server.stop();
  expect(version).toBeGreaterThan(1);
});

describe('an error of the system names the file', () => {
  const index = new URL('../../../src/apiserver/index.ts', import.meta.url).href;
  /** Starts it as a user without rights, and returns what the failure says. */
  const failureAsNobody = (): { readonly name: string; readonly file: string; readonly code: string } => {
    const script = `import { EmbeddedApiServer } from ${JSON.stringify(index)};
      try { await (await EmbeddedApiServer.start({ dataDir: ${JSON.stringify(dir)} })).stop(); console.log('{}'); }
      catch ({ name, file, code }) { console.log(JSON.stringify({ name, file, code })); }`;
    const words = [process.execPath, '--input-type=module', '-e', script];
    const isRoot = process.getuid?.() === 0;
    const [program = '', ...args] = isRoot
      ? ['setpriv', '--reuid=65534', '--regid=65534', '--clear-groups', '--', ...words]
      : words;
    const env = { ...process.env, NODE_OPTIONS: '', HOME: '/' };
    const { stdout, stderr } = spawnSync(program, args, { encoding: 'utf8', env });
    if (stdout === '') throw new Error(stderr);
    return JSON.parse(stdout) as ReturnType<typeof failureAsNobody>;
  };
  const secrets = (): readonly string[] => readdirSync(dir).map((name) => join(dir, name));
  const open = (): void => {
    chmodSync(dir, 0o777);
    for (const file of secrets()) chmodSync(file, 0o666);
  };

  test.for<readonly [string, () => void, () => string]>([
    [
      'a database that may not be read',
      () => {
        chmodSync(database, 0o000);
      },
      () => database,
    ],
    [
      'a database that may not be written',
      () => {
        chmodSync(database, 0o444);
      },
      () => database,
    ],
    [
      'a directory that may not be written',
      () => {
        chmodSync(dir, 0o555);
      },
      () => database,
    ],
    [
      'a directory that may not be entered',
      () => {
        chmodSync(dir, 0o600);
      },
      () => database,
    ],
    [
      'a key that may not be read',
      () => {
        chmodSync(join(dir, 'ca.pem'), 0o000);
      },
      () => join(dir, 'ca.pem'),
    ],
    [
      'a key that may not be made',
      () => {
        for (const file of secrets()) rmSync(file);
        chmodSync(dir, 0o555);
      },
      () => database,
    ],
  ])('%s', ([, act, file]) => {
    open();
    act();
    const reason = failureAsNobody();
    chmodSync(dir, 0o700);
    expect(reason).toEqual({ name: 'StorageError', file: file(), code: 'permission_denied' });
  });
});

test('the warning of Node.js that SQLite is experimental is not shown, others are', () => {
  const script = `
    const { createRequire } = require('node:module');
    const { prototype } = require('node:module');
    const load = prototype.require;
    prototype.require = function (name) {
      if (name === 'node:sqlite') {
        process.emitWarning('SQLite is an experimental feature and might change at any time', 'ExperimentalWarning');
        process.emitWarning('something else', 'ExperimentalWarning');
      }
      return load.call(this, name);
    };
    import(${JSON.stringify(new URL('../../../src/apiserver/index.ts', import.meta.url).href)})
      .then(({ EmbeddedApiServer }) => EmbeddedApiServer.start({ dataDir: ${JSON.stringify(dir)} }))
      .then((server) => server.stop());`;
  const { stderr, status } = spawnSync(process.execPath, ['-e', script], { encoding: 'utf8' });
  expect(status).toBe(0);
  expect(stderr).toContain('something else');
  expect(stderr).not.toContain('SQLite is an experimental');
});
