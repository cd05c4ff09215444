import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { EmbeddedApiServer } from '../../../src/apiserver/index.ts';

let server: EmbeddedApiServer;
let dir: string;
let kubeconfig: string;
let ca: string;

beforeAll(async () => {
  server = await EmbeddedApiServer.start();
  dir = await mkdtemp(join(tmpdir(), 'trust-'));
  [kubeconfig, ca] = [join(dir, 'kubeconfig'), join(dir, 'ca.pem')];
  await writeFile(kubeconfig, server.kubeconfig().replace(/.*certificate-authority-data.*\n/, ''));
  await writeFile(ca, server.ca);
  await mkdir(join(dir, 'none'));
});
afterAll(async () => {
  await server.stop();
  await rm(dir, { recursive: true });
});

const program = join(import.meta.dirname, '../../support/ask-api.ts');

/** What a program of that environment is answered. */
async function asked(env: Readonly<Record<string, string>>): Promise<unknown> {
  const options = { env: { PATH: process.env['PATH'], SSL_CERT_DIR: join(dir, 'none'), ...env } };
  const { stdout } = await promisify(execFile)(
    process.execPath,
    [program, kubeconfig, `${server.url}/livez`],
    options,
  );
  return JSON.parse(stdout);
}

test.each(['SSL_CERT_FILE', 'NODE_EXTRA_CA_CERTS'])(
  'a kubeconfig without an authority, and a manifest URL, go by the store of the machine (%s)',
  async (name) => {
    expect(await asked({ [name]: ca })).toEqual(['PodList', 200]);
  },
);

test('a server that the machine does not trust is not talked to', async () => {
  const untrusted = expect.stringMatching(/unable to (?:verify|get)|self-signed/) as string;
  expect(await asked({})).toEqual([untrusted, untrusted]);
});
