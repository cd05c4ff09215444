import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { soon } from './found.ts';

const run = promisify(execFile);
const logind = '/lib/systemd/systemd-logind';

/** Why a separate logind cannot be started here; `undefined` when it can. */
export function whyNoLogind(): string | undefined {
  if (process.getuid?.() !== 0) return 'not root';
  // a second logind would take the machine's seats from the first
  if (existsSync('/run/systemd/system')) return 'the machine runs systemd';
  const programs = [
    logind,
    '/usr/bin/dbus-daemon',
    '/usr/bin/busctl',
    '/usr/bin/systemd-inhibit',
    '/usr/bin/unshare',
  ];
  const missing = programs.find((program) => !existsSync(program));
  return missing === undefined ? undefined : `${missing} is not installed`;
}

/** A separate system bus with a real systemd-logind, and a fake systemd that only records the units to start. */
export interface Logind {
  /** For `DBUS_SYSTEM_BUS_ADDRESS`. */
  readonly address: string;
  /** Resolves with the unit that logind starts once no inhibitor delays the shutdown. */
  readonly unitStarted: Promise<string>;
  /** Requests a shutdown of the machine from logind. */
  powerOff(): Promise<void>;
  /** Announces a shutdown, or its end, from another bus client than logind. */
  announce(starting: boolean): Promise<void>;
  stop(): Promise<void>;
}

export async function startLogind(): Promise<Logind> {
  const dir = mkdtempSync(join(tmpdir(), 'pt-logind-'));
  const path = join(dir, 'bus');
  const address = `unix:path=${path}`;
  const env = { ...process.env, DBUS_SYSTEM_BUS_ADDRESS: address };
  writeFileSync(join(dir, 'bus.conf'), configuration(address));
  const bus = spawn('dbus-daemon', [`--config-file=${join(dir, 'bus.conf')}`, '--nofork'], {
    stdio: 'ignore',
  });
  await soon('the socket of the bus', () => existsSync(path), waiting);
  const { promise: unitStarted, resolve } = Promise.withResolvers<string>();
  const systemd = await FakeSystemd.start(path, resolve);
  // what it keeps below /run/systemd is its own
  const alone = `mount -t tmpfs none /run/systemd && exec ${logind}`;
  const daemon = spawn('unshare', ['--mount', '--propagation=private', 'sh', '-c', alone], {
    stdio: 'ignore',
    env,
  });
  const call = async (...args: readonly string[]): Promise<string> =>
    (await run('busctl', ['--system', ...args], { env })).stdout;
  await soon(
    'logind on the bus',
    async () => (await call('list')).includes('org.freedesktop.login1'),
    waiting,
  );
  return {
    address,
    unitStarted,
    powerOff: async () => {
      const manager = ['org.freedesktop.login1', '/org/freedesktop/login1', 'org.freedesktop.login1.Manager'];
      await call('call', ...manager, 'PowerOff', 'b', 'false');
    },
    announce: async (starting) => {
      const signal = ['/org/freedesktop/login1', 'org.freedesktop.login1.Manager', 'PrepareForShutdown'];
      await call('emit', ...signal, 'b', String(starting));
    },
    stop: async () => {
      systemd.close();
      await Promise.all([ended(daemon), ended(bus)]);
      rmSync(dir, { recursive: true, force: true });
    },
  };
}

async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null) return;
  const exit = new Promise((resolve) => child.once('exit', resolve));
  child.kill('SIGKILL');
  await exit;
}

const waiting = { withinMs: 10_000, everyMs: 20 };

const configuration = (address: string): string => `<!DOCTYPE busconfig PUBLIC
  "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN" "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig>
  <type>system</type>
  <listen>${address}</listen>
  <auth>EXTERNAL</auth>
  <policy context="default">
    <allow send_destination="*" eavesdrop="true"/>
    <allow eavesdrop="true"/>
    <allow own="*"/>
  </policy>
</busconfig>
`;

const methodCall = 1;
const methodReturn = 2;
const errorReply = 3;

/** The codes of header fields. */
const field = {
  path: 1,
  interface: 2,
  member: 3,
  errorName: 4,
  replySerial: 5,
  destination: 6,
  sender: 7,
  signature: 8,
};

/** Reports every unit as loaded and refuses to start any, so that logind cancels the shutdown. */
class FakeSystemd {
  readonly #socket: Socket;
  readonly #onStart: (unit: string) => void;
  #serial = 0;
  #buffer = Buffer.alloc(0);

  private constructor(socket: Socket, onStart: (unit: string) => void) {
    this.#socket = socket;
    this.#onStart = onStart;
  }

  static async start(path: string, onStart: (unit: string) => void): Promise<FakeSystemd> {
    const socket = connect(path);
    const answered = new Promise<void>((resolve) =>
      socket.once('data', () => {
        resolve();
      }),
    );
    socket.write(`\0AUTH EXTERNAL ${Buffer.from('0').toString('hex')}\r\n`);
    await answered;
    const systemd = new FakeSystemd(socket, onStart);
    socket.on('data', (data) => {
      systemd.#read(data);
    });
    socket.write('BEGIN\r\n');
    const own = {
      path: '/org/freedesktop/DBus',
      interface: 'org.freedesktop.DBus',
      destination: 'org.freedesktop.DBus',
    };
    systemd.#send(methodCall, { ...own, member: 'Hello' }, new Writer());
    const name = new Writer().string('org.freedesktop.systemd1').uint32(0);
    systemd.#send(methodCall, { ...own, member: 'RequestName', signature: 'su' }, name);
    return systemd;
  }

  close(): void {
    this.#socket.destroy();
  }

  #read(data: Buffer): void {
    this.#buffer = Buffer.concat([this.#buffer, data]);
    while (this.#buffer.length >= 16) {
      const fieldsEnd = 16 + this.#buffer.readUInt32LE(12);
      const bodyAt = Math.ceil(fieldsEnd / 8) * 8;
      const end = bodyAt + this.#buffer.readUInt32LE(4);
      if (this.#buffer.length < end) return;
      const message = this.#buffer.subarray(0, end);
      this.#buffer = this.#buffer.subarray(end);
      if (message[1] === methodCall) this.#answer(message, fieldsOf(message, fieldsEnd), bodyAt);
    }
  }

  #answer(message: Buffer, fields: ReadonlyMap<number, string>, bodyAt: number): void {
    const reply = { destination: fields.get(field.sender) ?? '', replySerial: message.readUInt32LE(8) };
    if (fields.get(field.member) === 'Get') {
      this.#send(methodReturn, { ...reply, signature: 'v' }, new Writer().signature('s').string('loaded'));
      return;
    }
    if (fields.get(field.member) === 'StartUnit')
      this.#onStart(message.toString('utf8', bodyAt + 4, bodyAt + 4 + message.readUInt32LE(bodyAt)));
    const errorName = 'org.freedesktop.DBus.Error.NotSupported';
    this.#send(errorReply, { ...reply, errorName, signature: 's' }, new Writer().string('only noted'));
  }

  #send(
    type: number,
    fields: Readonly<Partial<Record<keyof typeof field, string | number>>>,
    body: Writer,
  ): void {
    const header = new Writer();
    for (const [name, value] of Object.entries(fields)) {
      const code = field[name as keyof typeof field];
      header.align(8).byte(code);
      if (typeof value === 'number') header.signature('u').uint32(value);
      else if (code === field.signature) header.signature('g').signature(value);
      else header.signature(code === field.path ? 'o' : 's').string(value);
    }
    const { bytes } = new Writer()
      .byte(0x6c)
      .byte(type)
      .byte(0)
      .byte(1)
      .uint32(body.bytes.length)
      .uint32(++this.#serial);
    const length = new Writer().uint32(header.bytes.length).bytes;
    const padding = Buffer.alloc((8 - ((16 + header.bytes.length) % 8)) % 8);
    this.#socket.write(Buffer.concat([bytes, length, header.bytes, padding, body.bytes]));
  }
}

/** The string fields of a message header. */
function fieldsOf(message: Buffer, end: number): ReadonlyMap<number, string> {
  const fields = new Map<number, string>();
  for (let at = 16; at < end;) {
    at = Math.ceil(at / 8) * 8;
    const code = message.readUInt8(at);
    const type = String.fromCharCode(message.readUInt8(at + 2)); // one letter, by D-Bus's own fields
    at += 4;
    if (type === 'u') at += 4;
    else if (type === 'g') at += message.readUInt8(at) + 2;
    else {
      const length = message.readUInt32LE(at);
      fields.set(code, message.toString('utf8', at + 4, at + 4 + length));
      at += length + 5;
    }
  }
  return fields;
}

/** Writes values as D-Bus aligns them, little end first. */
class Writer {
  bytes = Buffer.alloc(0);

  byte(value: number): this {
    return this.#add(Buffer.from([value]));
  }

  uint32(value: number): this {
    const bytes = Buffer.alloc(4);
    bytes.writeUInt32LE(value);
    return this.align(4).#add(bytes);
  }

  string(value: string): this {
    return this.uint32(Buffer.byteLength(value)).#add(Buffer.from(`${value}\0`));
  }

  signature(value: string): this {
    return this.byte(value.length).#add(Buffer.from(`${value}\0`));
  }

  align(to: number): this {
    return this.#add(Buffer.alloc((to - (this.bytes.length % to)) % to));
  }

  #add(more: Buffer): this {
    this.bytes = Buffer.concat([this.bytes, more]);
    return this;
  }
}
