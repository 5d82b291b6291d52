"""unpack-kernel.py IMAGE OUTPUT: the kernel inside an x86 bzImage, which is packed by xz or zstd (boot protocol 2.08)."""
import lzma
import struct
import subprocess
import sys

image = open(sys.argv[1], "rb").read()
sectors = image[0x1F1] or 4
offset, length = struct.unpack_from("<II", image, 0x248)
packed = image[(sectors + 1) * 512 + offset:][:length]
if packed.startswith(b"\xfd7zXZ\0"):
    unpacked = lzma.LZMADecompressor().decompress(packed)
elif packed.startswith(b"\x28\xb5\x2f\xfd"):
    # The last four bytes are the unpacked size.
    unpacked = subprocess.run(["zstd", "-dcq", "-M2048MB"], input=packed[:-4], stdout=subprocess.PIPE, check=True).stdout
else:
    sys.exit(f"{sys.argv[1]}: packed by neither xz nor zstd")
if not unpacked.startswith(b"\x7fELF"):
    sys.exit(f"{sys.argv[1]}: holds no ELF image")
open(sys.argv[2], "wb").write(unpacked)
