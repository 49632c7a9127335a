// Columns out of one binary buffer; workbench/widgets/pack.py is the other half.
const ARRAYS = { u1: Uint8Array, i4: Int32Array, f4: Float32Array };

// header: {name: [kind, offset, length, text offset]}, view: DataView -> {name: typed array, or texts}
export function unpack(header, view) {
  const columns = {};
  for (const [name, [kind, start, length, texts]] of Object.entries(header)) {
    columns[name] = kind === "text" ? new Texts(view, start, length, texts) : array(view, kind, start, length);
  }
  return columns;
}

function array(view, kind, start, length) {
  const Kind = ARRAYS[kind];
  const at = view.byteOffset + start;
  if (at % Kind.BYTES_PER_ELEMENT === 0) return new Kind(view.buffer, at, length);
  return new Kind(view.buffer.slice(at, at + length * Kind.BYTES_PER_ELEMENT)); // a front end may hand over any offset
}

// A list of texts of which each is decoded when somebody reads it.
class Texts {
  constructor(view, start, length, texts) {
    this.length = length;
    this.ends = array(view, "i4", start, length + 1);
    this.bytes = new Uint8Array(view.buffer, view.byteOffset + texts, this.ends[length]);
    this.decoder = new TextDecoder();
  }
  get(i) {
    return this.decoder.decode(this.bytes.subarray(this.ends[i], this.ends[i + 1]));
  }
  all() {
    return Array.from({ length: this.length }, (_, i) => this.get(i));
  }
}
