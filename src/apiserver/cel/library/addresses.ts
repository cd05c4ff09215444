import { isIPv4 } from 'node:net';
import { ipFault } from '../../../go/ip-fault.ts';
import { goQuote } from '../../../go/go-quote.ts';
import { func, type Library, method } from '../check/declarations.ts';
import { boolType, intType, opaqueType, stringType, type Type } from '../check/types.ts';
import { EvalError, noOverload, Opaque, type Value } from '../values/value.ts';

export const ipType: Type = opaqueType('net.IP');
export const cidrType: Type = opaqueType('net.CIDR');

/** An address as a number of 32 or 128 bits. */
interface Address {
  readonly bits: 32 | 128;
  readonly value: bigint;
}

function addressOf(text: string): Address {
  if (isIPv4(text))
    return { bits: 32, value: text.split('.').reduce((sum, part) => sum * 256n + BigInt(part), 0n) };
  const [head = '', tail] = withHex(text).split('::');
  const fields = (part: string): string[] => (part === '' ? [] : part.split(':'));
  const [before, after] = [fields(head), tail === undefined ? [] : fields(tail)];
  const zeros = Array.from({ length: 8 - before.length - after.length }, () => '0');
  const value = [...before, ...zeros, ...after].reduce(
    (sum, part) => sum * 65_536n + BigInt(`0x${part}`),
    0n,
  );
  return { bits: 128, value };
}

/** The text with an IPv4 address at its end as two fields. */
const withHex = (text: string): string =>
  text.replace(/[\d.]+\.[\d.]+$/, (v4) => {
    const { value } = addressOf(v4);
    return `${(value >> 16n).toString(16)}:${(value & 0xff_ffn).toString(16)}`;
  });

function addressText({ bits, value }: Address): string {
  if (bits === 32) return [24n, 16n, 8n, 0n].map((by) => String((value >> by) & 255n)).join('.');
  const fields = Array.from({ length: 8 }, (_, i) =>
    ((value >> BigInt(112 - 16 * i)) & 0xff_ffn).toString(16),
  );
  const text = fields.join(':');
  const runs = [...text.matchAll(/(?:^|(?<=:))0(?::0)+(?=:|$)/g)];
  const longest = runs.toSorted((a, b) => b[0].length - a[0].length)[0];
  if (!longest) return text;
  const before = text.slice(0, longest.index).replace(/:$/, '');
  const after = text.slice(longest.index + longest[0].length).replace(/^:/, '');
  return `${before}::${after}`;
}

const isMapped = ({ bits, value }: Address): boolean => bits === 128 && value >> 32n === 0xff_ffn;

class Ip extends Opaque {
  readonly type = ipType;
  readonly address: Address;
  override readonly sizeInBytes: number;
  constructor(address: Address) {
    super();
    this.address = address;
    this.sizeInBytes = address.bits / 8;
  }
  same(other: Opaque): boolean {
    const { bits, value } = (other as Ip).address;
    return bits === this.address.bits && value === this.address.value;
  }
}

class Cidr extends Opaque {
  readonly type = cidrType;
  readonly address: Address;
  readonly length: number;
  override readonly sizeInBytes: number;
  constructor(address: Address, length: number) {
    super();
    this.address = address;
    this.length = length;
    this.sizeInBytes = Math.ceil(length / 8);
  }
  same(other: Opaque): boolean {
    const { address, length } = other as Cidr;
    return this.length === length && new Ip(this.address).same(new Ip(address));
  }
  get masked(): Cidr {
    const shift = BigInt(this.address.bits - this.length);
    const value = (this.address.value >> shift) << shift;
    return new Cidr({ bits: this.address.bits, value }, this.length);
  }
  contains({ bits, value }: Address): boolean {
    const shift = BigInt(this.address.bits - this.length);
    return bits === this.address.bits && value >> shift === this.address.value >> shift;
  }
}

/** @throws {EvalError} */
/** Returns what a text is parsed to; like kube-apiserver, says nothing about the text when it cannot be. @throws {EvalError} */
function orNoOverload<T>(parse: () => T): T {
  try {
    return parse();
  } catch (reason) {
    throw reason instanceof EvalError ? noOverload() : reason;
  }
}

function toIp(text: Value): Ip {
  const shown = goQuote(text as string);
  const fault = ipFault(text as string);
  if (fault !== undefined)
    throw new EvalError(`IP Address ${shown} parse error during conversion from string: ${fault}`);
  if ((text as string).includes('%'))
    throw new EvalError(`IP address ${shown} with zone value is not allowed`);
  const address = addressOf(text as string);
  if (isMapped(address)) throw new EvalError(`IPv4-mapped IPv6 address ${shown} is not allowed`);
  return new Ip(address);
}

/** Returns why a text is no prefix, in the words of Go's `netip.ParsePrefix`. */
function prefixFault(text: string): string | undefined {
  const say = (what: string): string => `netip.ParsePrefix(${goQuote(text)}): ${what}`;
  const slash = text.lastIndexOf('/');
  if (slash < 0) return say("no '/'");
  const [address, length] = [text.slice(0, slash), text.slice(slash + 1)];
  const fault = ipFault(address);
  if (fault !== undefined) return say(fault);
  if (address.includes('%')) return say('IPv6 zones cannot be present in a prefix');
  const isBad = !/^(?:0|[1-9]\d*)$/.test(length);
  if (isBad) return say(`bad bits after slash: ${goQuote(length)}`);
  return Number(length) > (isIPv4(address) ? 32 : 128) ? say('prefix length out of range') : undefined;
}

const cidrFault = 'network address parse error during conversion from string: ';

/** @throws {EvalError} */
function toCidr(text: Value): Cidr {
  const fault = prefixFault(text as string);
  if (fault !== undefined) throw new EvalError(cidrFault + cidrFault + fault);
  const [ip = '', length = ''] = (text as string).split('/');
  const address = addressOf(ip);
  if (isMapped(address))
    throw new EvalError(`${cidrFault}IPv4-mapped IPv6 address ${goQuote(text as string)} is not allowed`);
  return new Cidr(address, Number(length));
}

const succeeds =
  (read: (text: Value) => unknown) =>
  (text: Value): boolean => {
    try {
      read(text);
      return true;
    } catch {
      return false;
    }
  };

const isIn = ({ bits, value }: Address, v4: string, v6: string): boolean => {
  const text = bits === 32 ? v4 : v6;
  return toCidr(text).contains({ bits, value });
};
const isUnspecified = (address: Address): boolean => address.value === 0n;
const isLoopback = (address: Address): boolean => isIn(address, '127.0.0.0/8', '::1/128');
const isLinkLocalMulticast = ({ bits, value }: Address): boolean =>
  bits === 32
    ? value >> 8n === 0xe0_00_00n
    : value >> 112n === 0xff_02n || (value >> 120n === 0xffn && ((value >> 112n) & 0x0fn) === 2n);
const isLinkLocalUnicast = (address: Address): boolean => isIn(address, '169.254.0.0/16', 'fe80::/10');
const isMulticast = (address: Address): boolean => isIn(address, '224.0.0.0/4', 'ff00::/8');
const isBroadcast = ({ bits, value }: Address): boolean => bits === 32 && value === 0xff_ff_ff_ffn;
const isGlobalUnicast = (address: Address): boolean =>
  ![isBroadcast, isUnspecified, isLoopback, isMulticast, isLinkLocalUnicast].some((test) => test(address));

const test = (name: string, id: string, holds: (address: Address) => boolean): Library['functions'][number] =>
  method(name, [`ip_${id}`, [ipType], boolType, (ip) => holds((ip as Ip).address)]);

const addressOfIp = (ip: Value): Address => (ip as Ip).address;
const containsCidr = (outer: Cidr, inner: Cidr): boolean =>
  outer.length <= inner.length && outer.contains(inner.address);
const textOfIp = (ip: Value): Value => addressText(addressOfIp(ip));
const textOfCidr = (cidr: Value): Value => `${addressText((cidr as Cidr).address)}/${(cidr as Cidr).length}`;

/** Kubernetes' IP addresses and networks. */
export const addresses: Library = {
  functions: [
    func('ip', ['string_to_ip', [stringType], ipType, toIp]),
    func('isIP', ['is_ip', [stringType], boolType, succeeds(toIp)]),
    func('ip.isCanonical', [
      'ip_is_canonical',
      [stringType],
      boolType,
      (text) => addressText(toIp(text).address) === text,
    ]),
    method('family', ['ip_family', [ipType], intType, (ip) => (addressOfIp(ip).bits === 32 ? 4n : 6n)]),
    test('isUnspecified', 'is_unspecified', isUnspecified),
    test('isLoopback', 'is_loopback', isLoopback),
    test('isLinkLocalMulticast', 'is_link_local_multicast', isLinkLocalMulticast),
    test('isLinkLocalUnicast', 'is_link_local_unicast', isLinkLocalUnicast),
    test('isGlobalUnicast', 'is_global_unicast', isGlobalUnicast),
    func(
      'string',
      ['ip_to_string', [ipType], stringType, textOfIp],
      ['cidr_to_string', [cidrType], stringType, textOfCidr],
    ),
    func('cidr', ['string_to_cidr', [stringType], cidrType, toCidr]),
    func('isCIDR', ['is_cidr', [stringType], boolType, succeeds(toCidr)]),
    method(
      'containsIP',
      [
        'cidr_contains_ip_string',
        [cidrType, stringType],
        boolType,
        (c, text) => (c as Cidr).contains(orNoOverload(() => toIp(text)).address),
      ],
      ['cidr_contains_ip_ip', [cidrType, ipType], boolType, (c, ip) => (c as Cidr).contains(addressOfIp(ip))],
    ),
    method(
      'containsCIDR',
      [
        'cidr_contains_cidr_string',
        [cidrType, stringType],
        boolType,
        (c, text) =>
          containsCidr(
            c as Cidr,
            orNoOverload(() => toCidr(text)),
          ),
      ],
      [
        'cidr_contains_cidr',
        [cidrType, cidrType],
        boolType,
        (c, inner) => containsCidr(c as Cidr, inner as Cidr),
      ],
    ),
    method('ip', ['cidr_ip', [cidrType], ipType, (c) => new Ip((c as Cidr).address)]),
    method('prefixLength', ['cidr_prefix_length', [cidrType], intType, (c) => BigInt((c as Cidr).length)]),
    method('masked', ['cidr_masked', [cidrType], cidrType, (c) => (c as Cidr).masked]),
  ],
  types: [ipType, cidrType],
};
