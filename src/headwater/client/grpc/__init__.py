"""The generated code of headwater.proto (make protos)."""
